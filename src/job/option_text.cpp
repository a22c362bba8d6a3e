#include "job/option_text.h"

#include <charconv>
#include <cmath>

namespace partita {
namespace {

[[noreturn]] void refuse(std::string_view where, std::string_view text, std::string_view expected) {
  throw InvalidArgument("[{}] bad value, got '{}', expected {}", where, text, expected);
}

/// Returns the number that is the whole of `text`, with an optional sign. Returns none if there is no such number. Sets
/// `failure` to the reason: invalid_argument for other texts, result_out_of_range for numbers that T cannot hold, or
/// none.
template <class T>
std::optional<T> number(std::string_view text, std::errc& failure) {
  T value{};
  const bool has_plus = text.starts_with('+') && !text.starts_with("+-");
  const char *begin = text.data() + (has_plus ? 1 : 0), *end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(begin, end, value);
  failure = rest == end && begin != end ? error : std::errc::invalid_argument;
  return failure == std::errc() ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse_number(std::string_view where, std::string_view text, std::errc failure,
                                std::string_view kind) {
  if (failure == std::errc::invalid_argument) {
    throw InvalidArgument("[{}] not a number, got '{}', expected {}", where, text, kind);
  }
  throw InvalidArgument("[{}] out of range, got {}, expected a number of 64 bits", where, text);
}

/// Returns the result of `parse`. Rethrows its InvalidArgument with "[where]" in place of the parser's own prefix.
template <class Parse>
auto parsed(std::string_view where, const Parse& parse) {
  try {
    return parse();
  } catch (const InvalidArgument& error) {
    const std::string_view message = error.what();
    const size_t end = message.find("] ");
    throw InvalidArgument(error.kind(), "[{}] {}", where,
                          end == std::string_view::npos ? message : message.substr(end + 2));
  }
}

}  // namespace

void read_option(std::string_view where, std::string_view text, const Limits&, bool& value) {
  if (text != "true" && text != "false") refuse(where, text, "true or false");
  value = text == "true";
}

void read_option(std::string_view where, std::string_view text, const Limits& limits, int64_t& value) {
  std::errc failure{};
  const std::optional<int64_t> given = number<int64_t>(text, failure);
  const auto least = static_cast<int64_t>(limits.least), most = static_cast<int64_t>(limits.most);
  if (!given && failure == std::errc::invalid_argument) refuse_number(where, text, failure, "a whole number");
  if (!given || *given < least || *given > most) {
    throw InvalidArgument("[{}] out of range, got {}, expected {} to {}", where, text, least, most);
  }
  value = *given;
}

void read_option(std::string_view where, std::string_view text, const Limits& limits, int& value) {
  int64_t wide = 0;
  read_option(where, text, {limits.least, std::min<double>(limits.most, std::numeric_limits<int>::max())}, wide);
  value = static_cast<int>(wide);
}

void read_option(std::string_view where, std::string_view text, const Limits&, uint64_t& value) {
  std::errc failure{};
  const std::optional<uint64_t> given = number<uint64_t>(text, failure);
  if (!given || text.starts_with('+')) {
    throw InvalidArgument("[{}] not a whole number in range, got {}, expected 0 to {}", where, text,
                          std::numeric_limits<uint64_t>::max());
  }
  value = *given;
}

void read_option(std::string_view where, std::string_view text, const Limits& limits, double& value) {
  std::errc failure{};
  const std::optional<double> given = number<double>(text, failure);
  if (!given) refuse_number(where, text, failure, "a number");
  if (!std::isfinite(*given) || *given < limits.least || *given > limits.most) {
    throw InvalidArgument("[{}] out of range, got {}, expected {} to {}", where, text, limits.least, limits.most);
  }
  value = *given + 0.0;  // turns -0, which a file writes as the integer 0, into 0
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

void read_option(std::string_view where, std::string_view text, const Limits&, NodeAnnotation& value) {
  value = parsed(where, [&] { return parse_node_annotation(text); });
}

void read_option(std::string_view where, std::string_view text, const Limits&, StageAnnotation& value) {
  value = parsed(where, [&] { return parse_stage_annotation(text); });
}

void read_option(std::string_view where, std::string_view text, const Limits&, RecomputeAnnotation& value) {
  value = parsed(where, [&] { return parse_recompute_annotation(text); });
}

}  // namespace partita
