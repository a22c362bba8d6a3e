#pragma once
// Splits a sharding into what it says about micro-batches and about ranks.

#include "ir/sharding/sharding.h"

namespace partita {

/// A value's sharding over micro-batches.
struct MicroSharding {
  int dim = -1;                   // dimension that micro-batches cut, or -1
  Reduce partial = Reduce::none;  // reduction over micro-batches
  /// Whether every micro-batch has the whole value.
  bool whole() const { return dim < 0 && partial == Reduce::none; }
  bool operator==(const MicroSharding&) const = default;
};

/// Returns what the sharding says about micro-batches; `whole()` if the mesh has none.
MicroSharding micro_sharding(const Sharding& sharding, const Mesh& mesh);
/// Returns the sharding of one micro-batch over the ranks: without the axis of micro-batches, and not partial if it was
/// partial over that axis only.
Sharding within_micro_batch(Sharding sharding, const Mesh& mesh);
/// Returns the sharding over ranks and micro-batches that has `sharding` as its `within_micro_batch` and `micro` as its
/// `micro_sharding`. Micro-batches become the slowest axis of the dimension that they cut. Throws InternalError if the
/// two are partial by different reductions.
Sharding over_micro_batches(Sharding sharding, const MicroSharding& micro, const Mesh& mesh);

}  // namespace partita
