#include "planner/pricing/step/order_cache.h"

namespace partita {

const Sequence& OrderCache::of(Order order, const PipelineShape& shape) {
  if (shape.stages() == 1) order = Order::one_forward_one_backward;
  PipelineShape own = shape;
  if (order != Order::zero_bubble) own.times.clear();
  Times times;
  for (const StageTimes& stage : own.times) times.insert(times.end(), {stage.forward, stage.backward, stage.weight});
  const auto [cached, fresh] =
      cache_.try_emplace({order, shape.group_count(), shape.stages(), shape.micro_batches, std::move(times)});
  if (fresh) cached->second = make_sequence(order, own, chain_of(own.stages()));
  return cached->second;
}

}  // namespace partita
