#include "support/texts/captured_catalog.h"

#include <algorithm>
#include <unordered_map>

#include "base/scanner.h"

namespace partita {
namespace {

constexpr std::string_view kArrow = " => ";
constexpr std::string_view kLike = " like ";  // after the attributes, which may contain it too

/// Returns the text with line breaks as spaces, "=>" as "= >" so that nothing in it could be taken for the arrow, and
/// no spaces at the end.
std::string one_line(std::string_view text) {
  std::string line;
  for (char c : text) {
    if (c == '>' && line.ends_with('=')) line += ' ';
    line += c == '\n' || c == '\r' ? ' ' : c;
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string print(const MemoryFormat& format) {
  return format.bytes == 0 ? format.tag : fmt::format("{}/{}", format.tag, format.bytes);
}

std::string print(const std::vector<MemoryFormat>& formats) {
  std::string text;
  for (const MemoryFormat& format : formats) text += (text.empty() ? "" : ", ") + print(format);
  return text;
}

std::string query_text(const Type& type, const MemoryFormat& format) {
  return format == MemoryFormat{} ? print(type) : fmt::format("{}:{}", print(type), print(format));
}

/// Text of a choice: "KERNEL(FORMAT, ...) -> FORMAT, ...".
std::string print_kernel(const KernelChoice& choice) {
  return fmt::format("{}({}) -> {}", choice.kernel, print(choice.inputs), print(choice.outputs));
}

std::string query_text(const KernelQuery& query) {
  std::string operands;
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    operands += (i > 0 ? ", " : "") + query_text(query.inputs[i], query.input_formats.at(i));
  }
  const std::string attrs = query.attrs.print();
  const std::string like = query.like ? std::string(kLike) + print_kernel(*query.like) : "";
  return one_line(fmt::format("{}({}){}{} -> {}{}", query.op, operands, attrs.empty() ? "" : " ", attrs,
                              print(query.outputs), like));
}

std::string answer_text(const KernelChoice& choice) {
  if (!choice.accepted()) return "refused: " + one_line(choice.reason);
  std::string text = print_kernel(choice);
  if (choice.scratch_bytes > 0) text += fmt::format(" scratch={}", choice.scratch_bytes);
  for (size_t i = 0; i < choice.in_place.size(); ++i) {
    const auto [in, out] = choice.in_place[i];
    text += fmt::format("{}{}:{}", i == 0 ? " in_place=" : ",", in, out);
  }
  if (choice.view) text += " view";
  const std::string reason = one_line(choice.reason);
  return reason.empty() ? text : text + " ; " + reason;
}

bool is_dense(const MemoryFormat& format) { return format.plain() || format.any(); }

/// Reads a piece of a scanner's current line; errors name that line. The scanner must outlive it.
class LinePart : public Cursor {
 public:
  LinePart(const Scanner& scanner, std::string_view piece) : Cursor(piece), scanner_(scanner) {}

 private:
  std::string message(std::string_view what, std::string_view got, std::string_view expected) const override {
    return fmt::format("[{}] {}, got '{}', expected {}", scanner_.place(), what, got, expected);
  }

  const Scanner& scanner_;
};

class CapturedCatalog final : public KernelCatalog {
 public:
  KernelChoice choose(const KernelQuery& query) const override {
    const std::string text = query_text(query);
    const auto found = choices.find(text);
    if (found != choices.end()) return found->second;
    KernelChoice refused;
    refused.reason = "not in the captured catalog: " + text;
    return refused;
  }

  int64_t bytes(const Type& type, const MemoryFormat& format) const override {
    if (is_dense(format)) return type.bytes();
    const std::string text = query_text(type, format);
    const auto found = sizes.find(text);
    if (found != sizes.end()) return found->second;
    throw InvalidArgument(
        fmt::format("[catalog] unknown memory format of a type, got '{}', expected one of the captured catalog", text));
  }

  std::unordered_map<std::string, KernelChoice> choices;
  std::unordered_map<std::string, int64_t> sizes;
};

class CapturedCatalogParser {
 public:
  explicit CapturedCatalogParser(std::string_view text) : reader_("catalog", text) {}

  std::unique_ptr<KernelCatalog> run() {
    auto catalog = std::make_unique<CapturedCatalog>();
    while (reader_.next()) {
      const std::string keyword = reader_.word();
      if (keyword != "choose" && keyword != "bytes") reader_.fail("unknown line", keyword, "choose or bytes");
      const std::string query(reader_.until(kArrow));
      const bool added = keyword == "choose" ? catalog->choices.emplace(query, choice(query)).second
                                             : catalog->sizes.emplace(query, size(query)).second;
      if (!added) reader_.fail("query given twice", query, "one answer");
      reader_.end();
    }
    return catalog;
  }

 private:
  /// A type in a query: "f32[2,3]" or "f32[2,3]:acdb/24", where 24 is the number of bytes of the memory format (0: as
  /// many as the elements).
  struct FormattedType {
    Type type;
    bool has_format = false;
    int64_t bytes = 0;
  };
  FormattedType type(LinePart& text) const {
    const std::string plain = fmt::format("{}]", text.until("]"));
    FormattedType result{reader_.with_line([&] { return parse_type(plain); })};
    result.has_format = text.take(":");
    if (result.has_format) text.word("_.-");
    if (result.has_format && text.take("/")) result.bytes = text.number();
    return result;
  }

  std::vector<Type> types(std::string_view list) const {
    std::vector<Type> types;
    LinePart text(reader_, list);
    if (text.rest().empty()) return types;
    do {
      types.push_back(type(text).type);
    } while (text.take(","));
    text.end();
    return types;
  }

  MemoryFormat format() {
    MemoryFormat format{.tag = reader_.word("_.-")};
    if (format.any()) reader_.fail("an answer leaves a memory format free", "any", "a memory format");
    if (reader_.take("/")) format.bytes = reader_.number();
    if (format.plain() && format.bytes > 0) reader_.fail("bad memory format", print(format), "plain without bytes");
    return format;
  }

  std::vector<MemoryFormat> formats(size_t count, std::string_view what) {
    std::vector<MemoryFormat> list;
    while (list.size() < count && (list.empty() || reader_.take(","))) list.push_back(format());
    if (list.size() != count || reader_.rest().starts_with(",")) {
      reader_.fail(fmt::format("wrong number of memory formats of {}", what), reader_.rest().substr(0, 20),
                   fmt::format("{}", count));
    }
    return list;
  }

  int index(size_t count) {
    const int64_t value = reader_.number();
    if (value >= static_cast<int64_t>(count)) {
      reader_.fail("bad number", fmt::format("{}", value), fmt::format("less than {}", count));
    }
    return static_cast<int>(value);
  }

  KernelChoice choice(std::string_view query) {
    KernelChoice choice;
    if (reader_.take("refused:")) {
      choice.reason = reader_.take_rest();
      return choice;
    }
    const size_t open = query.find('('), close = query.find(')', std::min(open, query.size()));
    const size_t attributes = query.rfind('}'), like = query.rfind(kLike);
    if (attributes == std::string_view::npos || like > attributes) query = query.substr(0, like);
    const size_t arrow = query.rfind(" -> ");
    if (arrow == std::string_view::npos || close == std::string_view::npos || arrow < close) {
      reader_.fail("no query", query, "OP(TYPES) {attributes} -> TYPES");
    }
    const std::vector<Type> inputs = types(query.substr(open + 1, close - open - 1));
    const std::vector<Type> outputs = types(query.substr(arrow + 4));
    choice.kernel = reader_.word();
    reader_.expect("(");
    choice.inputs = formats(inputs.size(), "operands");
    reader_.expect(")");
    reader_.expect("->");
    choice.outputs = formats(outputs.size(), "results");
    if (reader_.take("scratch=")) choice.scratch_bytes = reader_.number();
    if (reader_.take("in_place=")) {
      do {
        const int input = index(inputs.size());
        reader_.expect(":");
        choice.in_place.emplace_back(input, index(outputs.size()));
      } while (reader_.take(","));
    }
    choice.view = reader_.take("view");
    if (choice.view && (inputs.empty() || outputs.size() != 1 || inputs[0].bytes() != outputs[0].bytes() ||
                        choice.inputs[0] != choice.outputs[0])) {
      reader_.fail("no view", query, "a result with the bytes and the memory format of operand 0");
    }
    if (reader_.take(";")) choice.reason = reader_.take_rest();
    return choice;
  }

  int64_t size(std::string_view query) {
    LinePart text(reader_, query);
    const FormattedType formatted = type(text);
    if (!formatted.has_format) reader_.fail("no memory format", query, "TYPE:FORMAT");
    text.end();
    const int64_t bytes = reader_.number(), least = std::max(formatted.type.bytes(), formatted.bytes);
    if (bytes < least) reader_.fail("too few bytes", fmt::format("{}", bytes), fmt::format("{}", least));
    return bytes;
  }

  Scanner reader_;
};

}  // namespace

KernelChoice RecordingCatalog::choose(const KernelQuery& query) const {
  KernelChoice choice = catalog_.choose(query);
  add("choose " + query_text(query), answer_text(choice));
  return choice;
}

int64_t RecordingCatalog::bytes(const Type& type, const MemoryFormat& format) const {
  const int64_t bytes = catalog_.bytes(type, format);
  if (!is_dense(format)) add("bytes " + query_text(type, format), fmt::format("{}", bytes));
  return bytes;
}

void RecordingCatalog::add(const std::string& query, const std::string& answer) const {
  if (queries_.insert(query).second) lines_.push_back(fmt::format("{}{}{}", query, kArrow, answer));
}

std::string print(const RecordingCatalog& recording) {
  std::string text = "partita catalog 1\n";
  for (const std::string& line : recording.lines()) text += line + "\n";
  return text;
}

std::unique_ptr<KernelCatalog> parse_catalog(std::string_view text) { return CapturedCatalogParser(text).run(); }

}  // namespace partita
