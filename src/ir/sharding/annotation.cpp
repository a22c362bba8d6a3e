#include "ir/sharding/annotation.h"

#include <algorithm>

#include "base/cursor.h"
#include "base/error.h"
#include "base/plain_text.h"
#include "ir/sharding/axis_limit.h"
#include "ir/sharding/mesh.h"

namespace partita {
namespace {

constexpr std::string_view kExample = "((2, 4), (4, 1)) or [dp=2,mp=4]((dp,mp),(mp,None))";

class AnnotationReader : public Cursor {
 public:
  explicit AnnotationReader(std::string_view text) : Cursor(text), text_(text) {}

  Strategy strategy() {
    Strategy strategy = tensors<int64_t>([&] { return parts(); });
    end(kEnd);
    return strategy;
  }

  ShardingAnnotation annotation() {
    ShardingAnnotation annotation;
    if (take("[")) {
      named(annotation);
    } else {
      const auto read = [&] { return tensors<int64_t>([&] { return parts(); }); };
      annotation.inputs = read();
      if (take("->")) annotation.outputs = read();
    }
    end(kEnd);
    return annotation;
  }

 private:
  static constexpr std::string_view kEnd = "nothing after the last parenthesis";

  void named(ShardingAnnotation& annotation) {
    std::vector<int64_t> sizes;
    std::vector<std::string> names;
    std::vector<int> rank_list;
    while (!take("]")) {
      const std::string name = word("_", "a name");
      expect("=");
      if (name == "ranks") {
        expect("(");
        do {
          rank_list.push_back(static_cast<int>(number(0, kMaxMeshRanks, "a rank")));
          separate(")");
        } while (!take(")"));
      } else {
        names.push_back(name);
        sizes.push_back(parts());
      }
      separate("]");
    }
    const ShardLayout layout(sizes, names, std::move(rank_list));
    const auto read = [&] {
      std::vector<TensorLayout> layouts;
      for (const auto& dims : tensors<std::string>([&] { return word("_+", "the name of an axis or None"); })) {
        layouts.push_back(layout(dims));
      }
      return layouts;
    };
    const std::vector<TensorLayout> inputs = read();
    annotation = annotation_of(inputs, take("->") ? read() : std::vector<TensorLayout>{});
  }

  template <class T, class Read>
  std::vector<std::vector<T>> tensors(Read&& read) {
    std::vector<std::vector<T>> result;
    expect("(");
    while (!take(")")) {
      std::vector<T>& dims = result.emplace_back();
      expect("(");
      while (!take(")")) {
        dims.push_back(read());
        separate(")");
      }
      separate(")");
    }
    return result;
  }

  /// Reads a comma, or stops before the end of the list. Throws InvalidArgument for any other text.
  void separate(std::string_view close) {
    if (!take(",") && !rest().starts_with(close)) fail("", "", "a comma or the end of the list");
  }

  int64_t parts() { return number(1, kMaxMeshRanks, "a number of parts, 1 to 2^20"); }

  std::string message(std::string_view, std::string_view, std::string_view expected) const override {
    return fmt::format("[strategy] cannot be read at position {}, got '{}', expected {}, as in {}",
                       text_.size() - rest().size() + 1, text_, expected, kExample);
  }

  std::string_view text_;
};

template <class T>
std::string print_tensors(const std::vector<std::vector<T>>& tensors, std::string_view comma) {
  std::vector<std::string> texts;
  for (const auto& dims : tensors) texts.push_back(fmt::format("({})", fmt::join(dims, comma)));
  return fmt::format("({})", fmt::join(texts, comma));
}

std::string print_names(const std::vector<NamedDims>& tensors) {
  std::vector<std::vector<std::string>> texts;
  for (const NamedDims& dims : tensors) {
    texts.emplace_back();
    for (const auto& names : dims) {
      texts.back().push_back(names.empty() ? "None" : fmt::format("{}", fmt::join(names, "+")));
    }
  }
  return print_tensors(texts, ",");
}

[[noreturn]] void refuse(std::string_view what, std::string_view got, std::string_view expected) {
  throw InvalidArgument("[layout] {}, got {}, expected {}", what, got, expected);
}

void check_rank_list(const std::vector<int>& list, int64_t ranks) {
  if (list.empty()) return;
  const std::string expected = fmt::format("each of 0 to {} once", ranks - 1);
  if (static_cast<int64_t>(list.size()) != ranks) {
    refuse("bad list of ranks", fmt::format("{} ranks", list.size()), expected);
  }
  std::vector<bool> seen(list.size());
  for (const int rank : list) {
    if (rank < 0 || rank >= ranks || seen[rank]) {
      refuse("bad list of ranks", fmt::format("rank {}{}", rank, rank >= 0 && rank < ranks ? " twice" : ""), expected);
    }
    seen[rank] = true;
  }
}

}  // namespace

std::string print(const Strategy& strategy) { return print_tensors(strategy, ", "); }
Strategy parse_strategy(std::string_view text) { return AnnotationReader(text).strategy(); }
ShardingAnnotation parse_annotation(std::string_view text) { return AnnotationReader(text).annotation(); }

std::string print(const ShardingAnnotation& annotation) {
  std::string text;
  for (const auto& [name, size] : annotation.axes) text += fmt::format("{}{}={}", text.empty() ? "[" : ",", name, size);
  if (annotation.named()) {
    if (!annotation.rank_list.empty()) text += fmt::format(",ranks=({})", fmt::join(annotation.rank_list, ","));
    text += "]";
    text += print_names(annotation.input_names);
    return annotation.output_names.empty() ? text : fmt::format("{}->{}", text, print_names(annotation.output_names));
  }
  text = print_tensors(annotation.inputs, ",");
  return annotation.outputs.empty() ? text : text + "->" + print_tensors(annotation.outputs, ",");
}

TensorLayout::TensorLayout(const ShardLayout& layout, NamedDims dims)
    : layout_(std::make_shared<const ShardLayout>(layout)), dims_(std::move(dims)) {}

ShardLayout::ShardLayout(const std::vector<int64_t>& sizes, const std::vector<std::string>& names,
                         std::vector<int> rank_list)
    : rank_list_(std::move(rank_list)) {
  if (sizes.size() != names.size() || sizes.empty()) {
    refuse("sizes and names differ in number", fmt::format("{} sizes and {} names", sizes.size(), names.size()),
           "as many, and at least one");
  }
  if (sizes.size() > kMaxNamedAxes) {
    refuse("too many axes", fmt::format("{}", sizes.size()), fmt::format("at most {}", kMaxNamedAxes));
  }
  int64_t ranks = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string& name = names[i];
    const auto plain = [](char c) { return is_letter_or_digit(c) || c == '_'; };
    if (sizes[i] < 1) refuse("bad size of axis " + name, fmt::format("{}", sizes[i]), "1 or more");
    if (name.empty() || name == "None" || name == "ranks" || !std::ranges::all_of(name, plain)) {
      refuse("bad name of an axis", "'" + name + "'", "letters, digits and '_', and neither None nor ranks");
    }
    if (std::find(names.begin(), names.begin() + static_cast<int64_t>(i), name) !=
        names.begin() + static_cast<int64_t>(i))
      refuse("two axes have one name", "'" + name + "' twice", "different names");
    if (sizes[i] > kMaxMeshRanks / ranks)
      refuse("too many ranks", fmt::format("{} and more", sizes[i]), "at most 2^20");
    ranks *= sizes[i];
    axes_.emplace_back(name, sizes[i]);
  }
  check_rank_list(rank_list_, ranks);
  if (std::ranges::is_sorted(rank_list_)) rank_list_.clear();  // every rank is at its own place
}

TensorLayout ShardLayout::operator()(const std::vector<std::string>& dims) const {
  NamedDims result;
  std::vector<std::string> known, used;
  for (const auto& [name, size] : axes_) known.push_back(name);
  for (const std::string& dim : dims) {
    result.emplace_back();
    if (dim == "None") continue;
    for (size_t at = 0; at <= dim.size();) {
      const size_t end = std::min(dim.find('+', at), dim.size());
      const std::string name = dim.substr(at, end - at);
      at = end + 1;
      if (std::ranges::find(known, name) == known.end()) {
        throw unknown_name("[layout] unknown axis", name, fmt::format("one of [{}] or None", fmt::join(known, ", ")),
                           known);
      }
      if (std::ranges::find(used, name) != used.end()) {
        refuse("an axis cuts one tensor twice", "'" + name + "' twice", "each axis once");
      }
      used.push_back(name);
      result.back().push_back(name);
    }
  }
  return {*this, std::move(result)};
}

std::vector<int64_t> ShardLayout::parts(const NamedDims& dims) const {
  std::vector<int64_t> result;
  for (const auto& names : dims) {
    int64_t parts = 1;
    for (const auto& [name, size] : axes_) {
      if (std::ranges::find(names, name) != names.end()) parts *= size;
    }
    result.push_back(parts);
  }
  return result;
}

ShardingAnnotation annotation_of(const std::vector<TensorLayout>& inputs, const std::vector<TensorLayout>& outputs) {
  ShardingAnnotation annotation;
  if (inputs.empty()) refuse("an annotation without layouts", "none", "one for each operand");
  const ShardLayout& layout = inputs.front().layout();
  annotation.axes = layout.axes();
  annotation.rank_list = layout.rank_list();
  const auto add = [&](const std::vector<TensorLayout>& layouts, Strategy& parts, std::vector<NamedDims>& names) {
    for (const TensorLayout& one : layouts) {
      if (one.layout() != layout) refuse("an annotation mixes layouts", "two", "tensors of one layout");
      parts.push_back(layout.parts(one.dims()));
      names.push_back(one.dims());
    }
  };
  add(inputs, annotation.inputs, annotation.input_names);
  add(outputs, annotation.outputs, annotation.output_names);
  return annotation;
}

}  // namespace partita
