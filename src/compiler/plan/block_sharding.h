#pragma once
// What users choose of the way in which networks are cut beside the batch.

#include <cstdint>

namespace partita {

inline constexpr int64_t kMaxSqueeze = 4;

/// Ranks that share the products of a block, whether these share the sequence between the products, too, and ranks that
/// share the sequence everywhere, of which attention gathers keys and values.
struct BlockSharding {
  int64_t tensor = 1;
  bool sequence = false;
  int64_t context = 1;
  /// The ranks of `tensor` share every node as the search finds it best, in the place of the products of blocks alone.
  bool searched = false;
  /// How much bytes of memory weigh in that search, 0 to kMaxSqueeze.
  int64_t squeeze = 0;

  bool any() const { return tensor > 1 || context > 1; }
};

}  // namespace partita
