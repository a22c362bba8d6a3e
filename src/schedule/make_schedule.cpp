#include <algorithm>

#include "schedule/choose_kernels.h"
#include "schedule/count_copies.h"
#include "schedule/overlap_collectives.h"
#include "schedule/pack_reductions.h"
#include "schedule/place_buffers.h"

namespace partita {

int64_t InFlight::between(Section from, Section to) const {
  if (from == Section::backward) return backward_to_weight;
  return to == Section::weight ? micro_to_weight : micro_to_backward;
}

Section Schedule::section_of(size_t instruction) const {
  const auto behind = std::upper_bound(begins.begin(), begins.end(), instruction);
  return static_cast<Section>(std::max<std::ptrdiff_t>(behind - begins.begin() - 1, 0));
}

size_t first_of_update(const Schedule& schedule, const LocalGraph& local) {
  for (size_t i = schedule.micro_end(); i < schedule.update(); ++i) {
    const Instruction& instruction = schedule.instructions[i];
    if (instruction.node >= 0 && local.graph.nodes[instruction.node].phase == Phase::update) return i;
  }
  return schedule.update();
}

Schedule make_schedule(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog,
                       const ScheduleOptions& options, const InFlight& in_flight) {
  Schedule schedule = choose_kernels(local, ops, catalog, in_flight);
  pack_reductions(schedule, local, options);
  overlap_collectives(schedule, local, options);
  count_copies(schedule, local, in_flight);
  place_buffers(schedule, local);
  return schedule;
}

}  // namespace partita
