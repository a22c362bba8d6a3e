#pragma once
// What a sharding says of micro-batches, apart from what it says of ranks.

#include "ir/sharding/sharding.h"

namespace partita {

struct MicroSharding {
  int dim = -1;                   // that micro-batches cut, or -1
  Reduce partial = Reduce::none;  // over micro-batches
  bool whole() const { return dim < 0 && partial == Reduce::none; }
  bool operator==(const MicroSharding&) const = default;
};

MicroSharding micro_sharding(const Sharding& sharding, const Mesh& mesh);
/// The sharding of one micro-batch over the ranks.
Sharding within_micro_batch(Sharding sharding, const Mesh& mesh);
/// The other way: micro-batches are the slowest axis of the dimension that they cut.
Sharding over_micro_batches(Sharding sharding, const MicroSharding& micro, const Mesh& mesh);

}  // namespace partita
