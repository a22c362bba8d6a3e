#include "ir/orders/list_schedule.h"
#include "ir/orders/orders.h"
#include "ir/orders/simulate.h"

namespace partita {
namespace {

/// Returns a function from a slot to its priority by rounds, the lowest first. Chunks are the stages of a group. A
/// round has one micro-batch per group and runs through the chunks of a group in turn: forward from first to last,
/// backward from last to first.
auto priority_of_rounds(const SectionGraph& graph) {
  std::vector<int64_t> chunks(graph.stages());  // per stage: its index on its group
  for (int group = 0; group < graph.groups(); ++group) {
    int64_t chunk = 0;
    for (const int stage : graph.stages_of(group)) chunks[stage] = chunk++;
  }
  return [chunks, groups = graph.groups()](const Slot& slot) -> std::array<int64_t, 3> {
    const int64_t chunk = chunks[slot.stage];
    return {slot.micro_batch / groups, slot.section == StageSection::forward ? chunk : -chunk,
            slot.micro_batch % groups};
  };
}

}  // namespace

GroupQueues forwards_alone(const SectionGraph& graph) {
  return list_schedule(graph.with_unit_times(), {.priority = priority_of_rounds(graph)});
}

GroupQueues interleaved(const SectionGraph& graph) {
  if (graph.groups() == graph.stages()) return one_forward_one_backward(graph);
  ListRules rules{.keeps_priority = true, .priority = priority_of_rounds(graph)};
  for (int group = 0; group < graph.groups(); ++group) {
    // Warm-up: until its first backward pass, the group runs a round of each chunk but the last, and of the last chunk
    // as many micro-batches as start while the first one goes to the end and comes back.
    const auto chunks = static_cast<int64_t>(graph.stages_of(group).size());
    const int64_t to_the_end = graph.stages() - 1 - graph.stages_of(group).back();
    rules.group_in_flight.push_back((chunks - 1) * graph.groups() + 2 * to_the_end + 1);
  }
  const SectionGraph unit = graph.with_unit_times();
  GroupQueues by_rounds = list_schedule(unit, rules);
  GroupQueues by_stages = one_forward_one_backward(graph);
  return simulate(by_stages, unit).seconds < simulate(by_rounds, unit).seconds ? by_stages : by_rounds;
}

}  // namespace partita
