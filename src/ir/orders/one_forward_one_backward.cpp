#include "ir/orders/list_schedule.h"
#include "ir/orders/orders.h"

namespace partita {

GroupQueues one_forward_one_backward(const SectionGraph& graph) {
  ListRules rules;
  for (int stage = 0; stage < graph.stages(); ++stage) rules.in_flight.push_back(graph.stages() - stage);
  rules.priority = [](const Slot& slot) -> std::array<int64_t, 3> { return {slot.micro_batch, -slot.stage}; };
  return list_schedule(graph.with_unit_times(), rules);
}

}  // namespace partita
