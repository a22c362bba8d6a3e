#include "ir/orders/list_schedule.h"
#include "ir/orders/orders.h"
#include "ir/orders/simulate.h"

namespace partita {

GroupQueues zero_bubble(const SectionGraph& graph) {
  ListRules rules;
  for (int stage = 0; stage < graph.stages(); ++stage) {
    rules.in_flight.push_back(graph.stages() - stage);
    rules.weight_delay.push_back(stage);
  }
  rules.keeps_in_flight = true;
  rules.priority = [](const Slot& slot) -> std::array<int64_t, 3> { return {slot.micro_batch, -slot.stage}; };
  // The gaps depend on the times, but a greedy choice under them can be worse: takes the better of both.
  GroupQueues by_unit_times = list_schedule(graph.with_unit_times(), rules);
  GroupQueues by_times = list_schedule(graph, rules);
  return simulate(by_times, graph).seconds < simulate(by_unit_times, graph).seconds ? by_times : by_unit_times;
}

}  // namespace partita
