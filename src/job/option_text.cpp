#include "job/option_text.h"

#include <charconv>
#include <cmath>

namespace partita {
namespace {

[[noreturn]] void refuse(std::string_view where, std::string_view text, std::string_view expected) {
  throw InvalidArgument(fmt::format("[{}] bad value, got '{}', expected {}", where, text, expected));
}

/// A number that is written as a whole; none otherwise.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, value);
  if (rest != end || failure != std::errc()) return std::nullopt;
  return value;
}

/// The message of a parser, begun with "[where]" instead of its own place.
template <class Parse>
auto parsed(std::string_view where, const Parse& parse) {
  try {
    return parse();
  } catch (const InvalidArgument& error) {
    const std::string_view message = error.what();
    const size_t end = message.find("] ");
    throw InvalidArgument(
        fmt::format("[{}] {}", where, end == std::string_view::npos ? message : message.substr(end + 2)), error.kind());
  }
}

}  // namespace

void read_option(std::string_view where, std::string_view text, const Limits&, bool& value) {
  if (text != "true" && text != "false") refuse(where, text, "true or false");
  value = text == "true";
}

void read_option(std::string_view where, std::string_view text, const Limits& limits, int64_t& value) {
  const std::optional<int64_t> given = number<int64_t>(text);
  const auto least = static_cast<int64_t>(limits.least), most = static_cast<int64_t>(limits.most);
  if (!given || *given < least || *given > most) {
    throw InvalidArgument(fmt::format("[{}] {}, got {}, expected {} to {}", where,
                                      given ? "out of range" : "not a whole number in range", text, least, most));
  }
  value = *given;
}

void read_option(std::string_view where, std::string_view text, const Limits& limits, int& value) {
  int64_t wide = 0;
  read_option(where, text, {limits.least, std::min<double>(limits.most, std::numeric_limits<int>::max())}, wide);
  value = static_cast<int>(wide);
}

void read_option(std::string_view where, std::string_view text, const Limits&, uint64_t& value) {
  const std::optional<uint64_t> given = number<uint64_t>(text);
  if (!given) {
    throw InvalidArgument(fmt::format("[{}] not a whole number in range, got {}, expected 0 to {}", where, text,
                                      std::numeric_limits<uint64_t>::max()));
  }
  value = *given;
}

void read_option(std::string_view where, std::string_view text, const Limits& limits, double& value) {
  const std::optional<double> given = number<double>(text);
  if (!given) refuse(where, text, "a number");
  if (!std::isfinite(*given) || *given < limits.least || *given > limits.most) {
    throw InvalidArgument(
        fmt::format("[{}] out of range, got {}, expected {} to {}", where, text, limits.least, limits.most));
  }
  value = *given;
}

void read_option(std::string_view where, std::string_view text, const Limits&, std::string& value) {
  if (text.empty()) refuse(where, text, "a value");
  value = text;
}

void read_option(std::string_view where, std::string_view text, const Limits&, DType& value) {
  const std::vector<std::string> names{"f32", "f64"};
  value = position_of_name(where, text, names) == 0 ? DType::f32 : DType::f64;
}

void read_option(std::string_view where, std::string_view text, const Limits&, DataSource& value) {
  value = parse_data_source(where, text);
}

void read_option(std::string_view where, std::string_view text, const Limits&, DatasetSharding& value) {
  value = parsed(where, [&] { return parse_dataset_sharding(text); });
}

void read_option(std::string_view where, std::string_view text, const Limits&, NodeMark& value) {
  value = parsed(where, [&] { return parse_node_mark(text); });
}

std::string print_option(bool value) { return value ? "true" : "false"; }
std::string print_option(int value) { return fmt::format("{}", value); }
std::string print_option(int64_t value) { return fmt::format("{}", value); }
std::string print_option(uint64_t value) { return fmt::format("{}", value); }
std::string print_option(double value) { return fmt::format("{}", value); }
std::string print_option(const std::string& value) { return value; }
std::string print_option(DType value) { return std::string(name_of(value)); }
std::string print_option(const DataSource& value) { return print(value); }
std::string print_option(const DatasetSharding& value) { return print(value); }
std::string print_option(const NodeMark& value) { return value.nodes + "=" + print(value.mark); }

}  // namespace partita
