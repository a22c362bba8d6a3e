#pragma once
// What several commands read from the command line.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

inline constexpr int64_t kLargestNumber = int64_t{1} << 40;

/// Where rows come from: "mnist:DIR", "cifar10:DIR", "text:FILE" or "synthetic".
struct DataSpec {
  std::string kind = "synthetic";
  std::string folder;  // or file
};
DataSpec parse_data_spec(std::string_view text);

/// Throws InvalidArgument with the nearest name unless `value` is one of `names`.
void check_choice(std::string_view flag, const std::string& value, const std::vector<std::string>& names);

/// Throws InvalidArgument unless `value` is in [least, most].
void check_range(std::string_view flag, int64_t value, int64_t least, int64_t most = kLargestNumber);

/// A number that is written with digits alone. Throws InvalidArgument unless it is in [least, most].
uint64_t parse_whole(std::string_view flag, std::string_view text, uint64_t least, uint64_t most);

/// For a terminal: what is not to be printed, or not UTF-8, becomes '?'.
std::string printable(std::string_view text);

/// True when both lead to one file, through whatever links, or would if it were there.
bool same_file(const std::string& one, const std::string& other);

/// The most compute threads per rank that are of any use.
int most_threads();

/// Compute threads per rank: as asked for, or an even share of the cores, at least 1 and as many as OpenMP may start.
int threads_per_rank(int asked, int ranks);

/// A line on stderr; of processes that meet the same thing only the first says it.
void warn(std::string_view message);

/// A line on stderr about this rank alone.
void warn_of_rank(std::string_view message);

/// Says on stderr when there are more threads than cores.
void warn_of_crowd(int ranks, int threads);

/// Ranks that wait must not spin while others compute, and the OpenMP library reads its way of waiting
/// when it is loaded: starts the program anew with OMP_WAIT_POLICY=passive, unless the user has set it.
void wait_passively(int ranks, int threads);

}  // namespace partita
