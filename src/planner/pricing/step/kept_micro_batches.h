#pragma once
// The number of micro-batches that the stages of a pipeline keep at once.

#include <map>
#include <set>
#include <vector>

#include "ir/orders/sequence.h"

namespace partita {

/// The numbers of micro-batches that the stages of a group keep at the same time, one entry per stage. Only maximal
/// moments are included: none has at most as many on every stage as another one.
using KeptMicroBatches = std::set<std::vector<int64_t>>;

/// Returns for each of `groups` groups the numbers of micro-batches that its stages keep at a time, one entry per
/// stage, at all moments that no other one matches or exceeds on every stage. A micro-batch passes the groups in turn:
/// stage s is on group s modulo `groups`. A stage keeps it from the begin of its forward pass to the end of its
/// backward pass or, in the order zero_bubble, of its weight section.
std::vector<KeptMicroBatches> kept_micro_batches(const Sequence& sequence, Order order, int64_t groups);

/// A cache of `kept_micro_batches` by sequence.
class KeptMicroBatchesCache {
 public:
  /// Returns what `kept_micro_batches` returns for these arguments, computed by the first call for the sequence. The
  /// sequence must outlive this object and always come with the same order and groups.
  const std::vector<KeptMicroBatches>& of(const Sequence& sequence, Order order, int64_t groups) {
    const auto [cached, fresh] = cache_.try_emplace(&sequence);
    if (fresh) cached->second = kept_micro_batches(sequence, order, groups);
    return cached->second;
  }

 private:
  std::map<const Sequence*, std::vector<KeptMicroBatches>> cache_;
};

}  // namespace partita
