#include "frontend/data/readers/csv_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/free_memory.h"
#include "frontend/data/readers/file_bytes.h"

namespace partita {
namespace {

constexpr int64_t kCsvPieceBytes = 1 << 20;
constexpr int64_t kMaxLineBytes = int64_t{16} << 20;
constexpr int64_t kMaxCsvBytes = int64_t{4} << 30;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The lines of a file, without their ends.
class Lines {
 public:
  explicit Lines(const std::filesystem::path& path) : file_(path) {}

  /// Moves to the next line that is not empty. Returns false at the end of the file.
  bool next() {
    while (read_line()) {
      if (!trimmed(text_).empty()) return true;
    }
    return false;
  }
  std::string_view text() const { return text_; }
  const std::filesystem::path& path() const { return file_.path(); }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw InvalidFile("[csv] '{}' line {}: {}", file_.path().string(), number_,
                      fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  bool read_line() {
    ++number_;
    size_t end = buffer_.find('\n', at_);
    while (end == std::string::npos && refill()) end = buffer_.find('\n', at_);
    if (at_ == buffer_.size()) return false;
    const size_t stop = end == std::string::npos ? buffer_.size() : end;
    text_ = std::string_view(buffer_).substr(at_, stop - at_);
    if (number_ == 1 && text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);  // a mark of UTF-8
    if (text_.ends_with('\r')) text_.remove_suffix(1);
    at_ = std::min(stop + 1, buffer_.size());
    return true;
  }

  /// Keeps what is not read yet, and appends more of the file. Returns false at its end.
  bool refill() {
    buffer_.erase(0, at_);
    at_ = 0;
    const std::vector<uint8_t> piece = file_.read(kCsvPieceBytes);
    bytes_ += static_cast<int64_t>(piece.size());
    if (static_cast<int64_t>(buffer_.size() + piece.size()) > kMaxLineBytes + kCsvPieceBytes) {
      refuse("line too long, got more than {} bytes, expected at most that", kMaxLineBytes);
    }
    if (bytes_ > kMaxCsvBytes)
      refuse("file too large, got more than {} bytes, expected NumPy files (npz)", kMaxCsvBytes);
    buffer_.append(piece.begin(), piece.end());
    return !piece.empty();
  }

  PackedFile file_;
  std::string buffer_;
  size_t at_ = 0;  // the first byte of the buffer that is not read yet
  std::string_view text_;
  int64_t number_ = 0, bytes_ = 0;
};

/// Makes room for the numbers of one more row. Throws RuntimeFailure(out_of_memory) if more memory would be needed than
/// there is.
void make_room(std::vector<double>& values, size_t row, const std::filesystem::path& path) {
  if (values.capacity() - values.size() >= row) return;
  const size_t wanted = std::max(values.size() + row, 2 * values.capacity());
  const auto bytes = static_cast<int64_t>(wanted * sizeof(double));
  const std::optional<int64_t> available = available_memory();
  if (available && bytes > *available) {
    throw RuntimeFailure(
        ExitCode::out_of_memory,
        "[csv] '{}' does not fit into memory, got {} for its numbers, expected at most the {} that are "
        "free: NumPy files (npz) take half of it",
        path.string(), print_bytes(bytes), print_bytes(*available));
  }
  values.reserve(wanted);
}

/// Takes the first field of a line, with the comma after it, from `rest`. Returns what is between quotes, whose pairs
/// stay as they are: names that differ keep on doing so, and numbers have none.
std::string_view take_field(std::string_view& rest, const Lines& lines) {
  const size_t start = rest.find_first_not_of(" \t");
  size_t comma = rest.find(',');
  if (start != std::string_view::npos && rest[start] == '"') {
    size_t quote = rest.find('"', start + 1);
    while (quote != std::string_view::npos && quote + 1 < rest.size() && rest[quote + 1] == '"') {
      quote = rest.find('"', quote + 2);
    }
    if (quote == std::string_view::npos) lines.refuse("quotes that do not end, got '{:.40}', expected '\"'", rest);
    comma = rest.find(',', quote);
    const std::string_view after = trimmed(rest.substr(quote + 1, comma - std::min(comma, quote + 1)));
    if (!after.empty()) lines.refuse("text after quotes, got '{:.40}', expected ','", after);
    const std::string_view field = rest.substr(start + 1, quote - start - 1);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma);
    return field;
  }
  const std::string_view field = trimmed(rest.substr(0, comma));
  rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma);
  return field;
}

/// Calls `use(field)` for each field of the line.
template <class Use>
void for_fields(const Lines& lines, const Use& use) {
  std::string_view rest = lines.text();
  while (true) {
    use(trimmed(take_field(rest, lines)));
    if (rest.empty()) return;
    rest.remove_prefix(1);  // the comma
  }
}

/// Whether a number that a double does not hold is too small, rather than too large: it has a negative exponent, or
/// none after "0.".
bool is_tiny(std::string_view field) {
  const size_t exponent = field.find_first_of("eE");
  if (exponent != std::string_view::npos) return field.substr(exponent + 1).starts_with('-');
  return field.substr(field.find_first_not_of('-')).starts_with("0.");
}

bool parse_number(std::string_view field, double& number) {
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  const auto [end, failure] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (end != field.data() + field.size()) return false;
  if (failure == std::errc::result_out_of_range && is_tiny(field)) {
    number = 0;
    return true;
  }
  return failure == std::errc{} && std::isfinite(number);
}

bool is_whole(std::string_view field) { return field.find_first_not_of("+-0123456789") == std::string_view::npos; }

std::vector<std::string> csv_names(const Lines& lines) {
  std::vector<std::string> names;
  std::set<std::string> known;
  bool has_words = false;
  for_fields(lines, [&](std::string_view field) {
    double number = 0;
    has_words = has_words || !parse_number(field, number);
    if (field.empty()) lines.refuse("a column without a name, got '', expected a name in place {}", names.size() + 1);
    if (!known.insert(std::string(field)).second) lines.refuse("two columns of one name, got '{}' twice", field);
    names.emplace_back(field);
  });
  if (!has_words) {
    lines.refuse("no names of columns, got numbers alone, expected a first line such as 'label,x,y'");
  }
  return names;
}

void read_row(const Lines& lines, CsvNumbers& found) {
  make_room(found.values, found.names.size(), lines.path());
  size_t count = 0;
  for_fields(lines, [&](std::string_view field) {
    const size_t at = count++;
    if (at >= found.names.size()) return;
    double number = 0;
    if (!parse_number(field, number)) {
      lines.refuse("not a finite number, got '{:.40}' in column '{}', expected one", field, found.names[at]);
    }
    if (!is_whole(field)) found.are_whole[at] = false;
    found.values.push_back(number);
  });
  if (count != found.names.size()) {
    lines.refuse("wrong number of fields, got {}, expected {} as in the first line", count, found.names.size());
  }
}

}  // namespace

CsvNumbers read_csv(const std::filesystem::path& path) {
  Lines lines(path);
  if (!lines.next()) lines.refuse("an empty file, got no line, expected names of columns");
  CsvNumbers found{.names = csv_names(lines), .are_whole = {}, .values = {}};
  found.are_whole.assign(found.names.size(), true);
  while (lines.next()) read_row(lines, found);
  if (found.values.empty()) lines.refuse("no rows, got names alone, expected a line of numbers");
  return found;
}

}  // namespace partita
