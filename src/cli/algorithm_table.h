#pragma once
// Which algorithm runs which collective, for some numbers of bytes.

#include <string>
#include <vector>

#include "base/collective_algorithm.h"

namespace partita {

/// Bytes of a rank's buffer that the table has.
inline constexpr int64_t kTableBytes[] = {1 << 10, 32 << 10, 64 << 10, 1 << 20};

/// The algorithms of one collective.
struct AlgorithmRow {
  std::string ranks;  // such as "2 hosts of 4 processes"
  Collective collective = Collective::all_reduce;
  DType dtype = DType::f32;                       // bf16 only where its algorithms differ from those of f32
  std::vector<CollectiveAlgorithm> algorithms{};  // by `kTableBytes`
};

/// Returns the rows for as many ranks as there are cores, at least two: as threads, as processes of one host, and on
/// two such hosts.
std::vector<AlgorithmRow> algorithm_table(int cores);

/// Prints the table for people, rows with the same algorithms in one line, and what each algorithm is. Each line begins
/// with a name or a space, and `width` columns for names.
std::string print_algorithm_table(const std::vector<AlgorithmRow>& rows, size_t width);

}  // namespace partita
