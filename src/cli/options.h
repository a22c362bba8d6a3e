#pragma once
// What several commands read from the command line.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

inline constexpr int64_t kLargestNumber = int64_t{1} << 40;

/// Throws InvalidArgument unless `value` is in [least, most].
void check_range(std::string_view flag, int64_t value, int64_t least, int64_t most = kLargestNumber);

/// For a terminal: what is not to be printed, or not UTF-8, becomes '?'.
std::string printable(std::string_view text);

/// The same for several lines.
std::string printable_lines(std::string_view text);

/// True when both lead to one file, through whatever links, or would if it were there.
bool same_file(const std::string& one, const std::string& other);

/// A line on stderr; of processes that meet the same thing only the first says it.
void warn(std::string_view message);

/// A line on stderr about this rank alone.
void warn_of_rank(std::string_view message);

}  // namespace partita
