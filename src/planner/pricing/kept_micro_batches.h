#pragma once
// How many micro-batches the stages of a pipeline keep at once.

#include <map>
#include <set>
#include <vector>

#include "ir/orders/sequence.h"

namespace partita {

/// Of a group of stages: how many micro-batches each of its stages keeps, at moments none of which has fewer everywhere
/// than another one.
using KeptMicroBatches = std::set<std::vector<int64_t>>;

/// By group of `groups`, whose stages a micro-batch passes in turns.
std::vector<KeptMicroBatches> kept_micro_batches(const Sequence& sequence, Order order, int64_t groups);

/// The same, each sequence looked at once.
class KnownKeptMicroBatches {
 public:
  /// The sequence outlives this.
  const std::vector<KeptMicroBatches>& of(const Sequence& sequence, Order order, int64_t groups) {
    const auto [known, fresh] = known_.try_emplace(&sequence);
    if (fresh) known->second = kept_micro_batches(sequence, order, groups);
    return known->second;
  }

 private:
  std::map<const Sequence*, std::vector<KeptMicroBatches>> known_;
};

}  // namespace partita
