#include <algorithm>

#include "compiler/schedule/choose_kernels.h"
#include "compiler/schedule/count_copies.h"
#include "compiler/schedule/overlap_collectives.h"
#include "compiler/schedule/pack_reductions.h"
#include "compiler/schedule/place_buffers.h"
#include "compiler/schedule/round_in_place.h"

namespace partita {

int64_t InFlight::between(Section from, Section to) const {
  if (from == Section::backward) return backward_to_weight;
  return to == Section::weight ? micro_to_weight : micro_to_backward;
}

int64_t InFlight::received(size_t input, Section last) const {
  return inputs.at(input)[static_cast<size_t>(last) - static_cast<size_t>(Section::micro)];
}

std::vector<int> roots_of(const Schedule& schedule) {
  std::vector<int> roots;
  for (const Buffer& buffer : schedule.buffers) {
    roots.push_back(buffer.view_of < 0 ? static_cast<int>(roots.size()) : roots[buffer.view_of]);
  }
  return roots;
}

Section Schedule::section_of(size_t instruction) const {
  const auto next = std::ranges::upper_bound(begins, instruction);
  return static_cast<Section>(std::max<std::ptrdiff_t>(next - begins.begin() - 1, 0));
}

size_t first_of_update(const Schedule& schedule, const LocalGraph& local) {
  const std::vector<bool> checks = checks_of_gradients(local);
  const auto is_check = [&](const Instruction& one) { return one.node >= 0 && checks[one.node]; };
  const auto& list = schedule.instructions;
  const auto first = std::ranges::find_if(list, is_check);
  if (first != list.end()) return static_cast<size_t>(first - list.begin());
  for (size_t i = schedule.micro_end(); i < schedule.update(); ++i) {
    const Instruction& instruction = schedule.instructions[i];
    if (instruction.node >= 0 && local.graph.nodes[instruction.node].phase == Phase::update) return i;
  }
  return schedule.update();
}

StateFormats state_formats(const Schedule& schedule, const LocalGraph& local) {
  StateFormats formats;
  for (const int buffer : schedule.entry) {
    const Buffer& entry = schedule.buffers[buffer];
    formats.emplace(local.graph.values[entry.value].name, entry.format);
  }
  return formats;
}

namespace {

/// Returns for each state the format in which it is held; none if it is not held, if it is written and no shared cache,
/// or if it is an output that would first have to be reordered.
ExternalStates external_states(const LocalGraph& local, const StateFormats& held, bool shares_caches) {
  ExternalStates external(local.graph.states.size());
  if (held.empty()) return external;
  for (size_t s = 0; s < external.size(); ++s) {
    const State& state = local.graph.states[s];
    const auto found = held.find(local.graph.values[state.entry].name);
    const bool is_shared = state.exit < 0 || (shares_caches && state.kind == StateKind::cache);
    if (found == held.end() || !is_shared) continue;
    const bool is_output =
        std::ranges::any_of(local.graph.outputs, [&](const Output& output) { return output.value == state.entry; });
    if (!is_output || found->second.plain()) external[s] = found->second;
  }
  return external;
}

}  // namespace

Schedule make_schedule(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog,
                       const ScheduleOptions& options, const InFlight& in_flight, const StateFormats& held) {
  const ExternalStates external = external_states(local, held, options.shares_caches);
  Schedule schedule = choose_kernels(local, ops, catalog, external);
  round_in_place(schedule, local);
  pack_reductions(schedule, local, options);
  overlap_collectives(schedule, local, options);
  count_copies(schedule, local, in_flight);
  place_buffers(schedule, local, external);
  return schedule;
}

}  // namespace partita
