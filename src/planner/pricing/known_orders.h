#pragma once
// Orders of pipeline stages, each made once.

#include <map>
#include <tuple>
#include <vector>

#include "ir/orders/sequence.h"

namespace partita {

/// Of stages in a chain, dealt to groups of ranks in turn. What a group runs depends on the times of the stages in the
/// zero-bubble order alone.
class KnownOrders {
 public:
  /// Of a single stage each micro-batch runs forward and backward, whatever the order.
  const Sequence& of(Order order, const PipelineShape& shape);

 private:
  using Times = std::vector<double>;
  std::map<std::tuple<Order, int, int, int64_t, Times>, Sequence> known_;  // by groups, stages and micro-batches
};

}  // namespace partita
