#include "ir/orders/check.h"

#include <algorithm>

#include "base/error.h"
#include "base/listed.h"
#include "ir/orders/simulate.h"

namespace partita {
namespace {

void require_of_shape(const Slot& slot, const PipelineShape& shape) {
  if (slot.stage < 0 || slot.stage >= shape.stages()) {
    throw InvalidArgument("[sequence] a stage that does not exist, got {}, expected stages 0 to {}", long_name(slot),
                          shape.stages() - 1);
  }
  if (slot.micro_batch < 0 || slot.micro_batch >= shape.micro_batches) {
    throw InvalidArgument("[sequence] a micro-batch that does not exist, got {}, expected micro-batches 0 to {}",
                          long_name(slot), shape.micro_batches - 1);
  }
  if (shape.forward_only && slot.section != StageSection::forward) {
    throw InvalidArgument("[sequence] a {} slot where only forwards run, got {}, expected only forward slots",
                          name_of(slot.section), long_name(slot));
  }
}

/// Whether there are weight slots. Throws InvalidArgument if only some stages have them.
bool have_weight(const Sequence& sequence, int stages) {
  std::vector<bool> has_weight(stages);
  for (const Slot& slot : sequence) {
    if (slot.section == StageSection::weight) has_weight[slot.stage] = true;
  }
  std::vector<int> with, without;
  for (int stage = 0; stage < stages; ++stage) (has_weight[stage] ? with : without).push_back(stage);
  if (with.empty() || without.empty()) return !with.empty();
  throw InvalidArgument(
      "[sequence] only some stages have weight slots, got them for stages {} and not for {}, expected all stages or "
      "none",
      listed(with, ", "), listed(without, ", "));
}

/// Checks that each slot occurs once, that micro-batches increase in each section, and that forward comes before
/// backward and backward before weight. Throws InvalidArgument otherwise.
void require_complete(const Sequence& sequence, const SectionGraph& graph) {
  std::vector<int64_t> place(graph.slots(), -1);
  std::vector<int64_t> last(graph.sections(), -1);  // the latest micro-batch
  for (size_t i = 0; i < sequence.size(); ++i) {
    const Slot& slot = sequence[i];
    int64_t& mine = place[graph.number(slot)];
    if (mine >= 0) {
      throw InvalidArgument("[sequence] a slot appears twice, got {} at places {} and {}, expected it once",
                            long_name(slot), mine, i);
    }
    mine = static_cast<int64_t>(i);
    int64_t& before = last[graph.section(slot.stage, slot.section)];
    if (slot.micro_batch < before) {
      throw InvalidArgument("[sequence] micro-batches out of order, got {} after {}, expected them to increase",
                            long_name(slot), long_name({slot.stage, slot.section, before}));
    }
    before = slot.micro_batch;
  }
  if (const auto missing = std::ranges::find(place, -1); missing != place.end()) {
    throw InvalidArgument("[sequence] a slot is missing, got no {}, expected micro-batches 0 to {} in each section",
                          long_name(graph.slot(missing - place.begin())), graph.micro_batches() - 1);
  }
  for (const Slot& slot : sequence) {
    if (slot.section == StageSection::forward) continue;
    const Slot needed{slot.stage, static_cast<StageSection>(static_cast<int>(slot.section) - 1), slot.micro_batch};
    if (place[graph.number(needed)] < place[graph.number(slot)]) continue;
    throw InvalidArgument("[sequence] {} before {}, got {} before {}, expected {} first", name_of(slot.section),
                          name_of(needed.section), long_name(slot), long_name(needed), long_name(needed));
  }
}

Simulation checked_simulation(const Sequence& sequence, const PipelineShape& shape,
                              const std::vector<Dependency>& dependencies) {
  const SectionGraph without_weight(shape, dependencies, false);  // rejects a bad shape before it is used
  for (const Slot& slot : sequence) require_of_shape(slot, shape);
  const bool has_weight = have_weight(sequence, shape.stages());
  const SectionGraph graph = has_weight ? SectionGraph(shape, dependencies, true) : without_weight;
  require_complete(sequence, graph);
  return simulate(queues_of(sequence, shape), graph);
}

}  // namespace

void check(const Sequence& sequence, const PipelineShape& shape, const std::vector<Dependency>& dependencies) {
  checked_simulation(sequence, shape, dependencies);
}

Sequence in_order_of_time(const Sequence& sequence, const PipelineShape& shape,
                          const std::vector<Dependency>& dependencies) {
  return sequence_of(checked_simulation(sequence, shape, dependencies));
}

}  // namespace partita
