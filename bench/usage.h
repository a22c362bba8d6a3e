#pragma once
// What the benchmarks say of their arguments.

#include <fmt/format.h>

#include <string_view>

namespace partita {

/// Prints the usage when the first argument is a flag: benchmarks have none but --help.
inline bool asks_for_help(int argc, char** argv, std::string_view arguments) {
  if (argc < 2 || argv[1][0] != '-') return false;
  fmt::print("usage: {} {}\n", argv[0], arguments);
  return true;
}

}  // namespace partita
