#pragma once
// Parsing and printing of single values of a configuration.

#include <limits>
#include <optional>

#include "base/names.h"
#include "job/config.h"

namespace partita {

inline constexpr int64_t kLargestNumber = int64_t{1} << 40;

/// Smallest and largest number that an option takes.
struct Limits {
  double least = 0;
  double most = static_cast<double>(kLargestNumber);
};

/// Each parses `text` into `value`; of the element types only f32 and f64. Throws InvalidArgument that begins with
/// "[where]" for other texts, "" included, and for numbers outside `limits`, which those of type uint64_t do not have.
void read_option(std::string_view where, std::string_view text, const Limits& limits, bool& value);
void read_option(std::string_view where, std::string_view text, const Limits& limits, int& value);
void read_option(std::string_view where, std::string_view text, const Limits& limits, int64_t& value);
void read_option(std::string_view where, std::string_view text, const Limits& limits, uint64_t& value);
void read_option(std::string_view where, std::string_view text, const Limits& limits, double& value);
void read_option(std::string_view where, std::string_view text, const Limits& limits, std::string& value);
void read_option(std::string_view where, std::string_view text, const Limits& limits, DType& value);
void read_option(std::string_view where, std::string_view text, const Limits& limits, DataSource& value);
void read_option(std::string_view where, std::string_view text, const Limits& limits, DatasetSharding& value);
void read_option(std::string_view where, std::string_view text, const Limits& limits, NodeAnnotation& value);
void read_option(std::string_view where, std::string_view text, const Limits& limits, StageAnnotation& value);
void read_option(std::string_view where, std::string_view text, const Limits& limits, RecomputeAnnotation& value);
template <Named Enum>
void read_option(std::string_view where, std::string_view text, const Limits&, Enum& value) {
  value = parse_name<Enum>(where, text);
}
template <class T>
void read_option(std::string_view where, std::string_view text, const Limits& limits, std::optional<T>& value) {
  read_option(where, text, limits, value.emplace());
}

/// Returns text that `read_option` parses back to the same value. The empty text, for an empty string, is not parsed.
template <class T>
std::string print_option(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return fmt::format("{}", value);
  } else if constexpr (std::is_same_v<T, NodeAnnotation>) {
    return value.nodes + "=" + print(value.annotation);
  } else {
    return print(value);
  }
}

}  // namespace partita
