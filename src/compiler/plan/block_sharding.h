#pragma once
// User options for sharding a network over more than the batch.

#include <cstdint>

namespace partita {

inline constexpr int64_t kMaxSqueeze = 4;

/// Sharding of transformer blocks: over ranks that share the products of a block (`tensor`) and ranks that share the
/// sequence everywhere, where attention gathers keys and values (`context`). `sequence`: the ranks of `tensor` also
/// share the sequence between products.
struct BlockSharding {
  int64_t tensor = 1;
  bool sequence = false;
  int64_t context = 1;
  /// Whether the search decides how the ranks of `tensor` share every node, instead of their sharing only the products
  /// of blocks.
  bool searched = false;
  /// Weight of memory bytes in that search, from 0 to kMaxSqueeze.
  int64_t squeeze = 0;

  bool any() const { return tensor > 1 || context > 1; }
};

}  // namespace partita
