#include "ir/orders/list_schedule.h"
#include "ir/orders/orders.h"

namespace partita {

GroupQueues gpipe(const SectionGraph& graph) {
  ListRules rules;
  rules.priority = [](const Slot& slot) -> std::array<int64_t, 3> {
    return {slot.section == StageSection::forward ? slot.stage : -slot.stage, slot.micro_batch};
  };
  for (int group = 0; group < graph.groups(); ++group) {
    rules.group_in_flight.push_back(static_cast<int64_t>(graph.stages_of(group).size()) * graph.micro_batches());
  }
  return list_schedule(graph.with_unit_times(), rules);
}

}  // namespace partita
