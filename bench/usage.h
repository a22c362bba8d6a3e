#pragma once
// How benchmarks read their arguments, which stand in a fixed order; later ones may be missing.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace partita {

/// Prints the usage when the first argument is a flag: benchmarks have none but --help.
inline bool asks_for_help(int argc, char** argv, std::string_view arguments) {
  if (argc < 2 || argv[1][0] != '-') return false;
  fmt::print("usage: {} {}\n", argv[0], arguments);
  return true;
}

/// Arguments of a benchmark, counted from 1.
class Arguments {
 public:
  Arguments(int argc, char** argv) : words_(argv, argv + argc) {}

  size_t count() const { return words_.size() - 1; }
  std::string text(size_t at, std::string_view fallback) const {
    return at < words_.size() ? words_[at] : std::string(fallback);
  }
  /// Returns the arguments from `at` on.
  std::vector<std::string> rest(size_t at) const {
    return {words_.begin() + static_cast<std::ptrdiff_t>(std::min(at, words_.size())), words_.end()};
  }
  /// Returns argument `at`, or `fallback` if it is missing. Throws InvalidArgument if it is no whole number, or less
  /// than `least`.
  template <class Number>
  Number number(size_t at, Number fallback, Number least = 1) const {
    if (at >= words_.size()) return fallback;
    const std::string& word = words_[at];
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc() && end == word.data() + word.size() && value >= least) return value;
    throw InvalidArgument(
        fmt::format("[argument {}] not a possible number, got '{}', expected {} or more", at, word, least));
  }

 private:
  std::vector<std::string> words_;
};

/// Calls `body` with the arguments, and returns the exit code of a benchmark. Prints the usage if it is asked for, or
/// if there are fewer arguments than `required`. Prints what `body` throws.
template <class Body>
int run_benchmark(int argc, char** argv, std::string_view usage, int required, const Body& body) {
  if (asks_for_help(argc, argv, usage)) return 0;
  if (argc - 1 < required) {
    fmt::print(stderr, "usage: {} {}\n", argv[0], usage);
    return static_cast<int>(ExitCode::usage);
  }
  try {
    body(Arguments(argc, argv));
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(ExitCode::internal);
  }
}

}  // namespace partita
