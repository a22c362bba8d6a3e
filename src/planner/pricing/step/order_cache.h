#pragma once
// A cache of orders of pipeline stages.

#include <map>
#include <tuple>
#include <vector>

#include "ir/orders/sequence.h"

namespace partita {

/// A cache of the sequences of stages that form a chain and are assigned to groups of ranks in turn. Only the
/// zero-bubble order depends on the times of the stages.
class OrderCache {
 public:
  /// Returns the sequence of a shape in an order, made on first use; it lives as long as this object. A single stage
  /// always runs 1f1b: each micro-batch forward and backward. Throws InvalidArgument for a bad shape, such as one of
  /// more than kMaxStageMicroBatches stages times micro-batches.
  const Sequence& of(Order order, const PipelineShape& shape);

 private:
  using Times = std::vector<double>;
  std::map<std::tuple<Order, int, int, int64_t, Times>, Sequence>
      cache_;  // by order, groups, stages, micro-batches and times
};

}  // namespace partita
