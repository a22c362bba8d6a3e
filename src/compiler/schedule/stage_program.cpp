#include "compiler/schedule/stage_program.h"

#include <algorithm>

#include "base/saturating.h"
#include "compiler/partition/collectives.h"
#include "ir/orders/in_flight.h"
#include "ir/work/flops.h"

namespace partita {

StageSection stage_section(Section section) {
  switch (section) {
    case Section::micro: return StageSection::forward;
    case Section::backward: return StageSection::backward;
    case Section::weight: return StageSection::weight;
    default: break;
  }
  PARTITA_CHECK(false, "section {} is no part of a micro-batch", name_of(section));
}

std::vector<Dependency> dependencies_of(const std::vector<Transfer>& transfers) {
  std::vector<Dependency> dependencies;
  for (const Transfer& transfer : transfers) {
    if (!transfer.in_micro_batches() || !is_micro(transfer.first)) continue;
    // A stage with nothing left but gradients of weights (the first) has an empty backward slot. It waits for the
    // operands of these gradients, or the stage would begin later forward slots too soon.
    StageSection to = stage_section(transfer.first);
    if (to == StageSection::weight) to = StageSection::backward;
    const Dependency one{transfer.from_stage, stage_section(transfer.sent), transfer.to_stage, to};
    if (std::ranges::find(dependencies, one) == dependencies.end()) dependencies.push_back(one);
  }
  return dependencies;
}

std::array<double, kSections.size()> work_of_sections(const LocalGraph& local, const OpSet& ops) {
  constexpr double kBillion = 1e9;
  const Rules rules(local.graph, ops);
  const std::vector<Section> sections = sections_of(local);
  std::array<double, kSections.size()> work{};
  for (size_t n = 0; n < sections.size(); ++n) {
    if (is_collective(local.graph.nodes[n])) continue;
    work[static_cast<size_t>(sections[n])] += flops_of(rules, n, local.cuts[n], local.mesh) / kBillion;
  }
  return work;
}

StageTimes estimated_times(const LocalGraph& local, const OpSet& ops) {
  const auto work = work_of_sections(local, ops);
  const auto of = [&](Section section) { return work[static_cast<size_t>(section)]; };
  return {of(Section::micro), of(Section::backward), of(Section::weight)};
}

std::vector<int64_t> bytes_of_groups(const Pipeline& pipeline, const std::function<int64_t(size_t stage)>& bytes_of) {
  std::vector<int64_t> bytes(pipeline.groups.size(), 0);
  for (size_t stage = 0; stage < pipeline.shape.groups.size(); ++stage) {
    int64_t& of_group = bytes[static_cast<size_t>(pipeline.shape.groups[stage])];
    of_group = saturating_add(of_group, bytes_of(stage));
  }
  return bytes;
}

InFlight in_flight_of(const Pipeline& pipeline, int stage, const LocalGraph& local) {
  InFlight result;
  result.inputs.assign(local.graph.inputs.size(), {1, 1, 1});
  if (!local.is_stage()) return result;
  const auto between = [&](StageSection from, StageSection to) {
    return copies(pipeline.sequence, stage, from, stage, to);
  };
  result.micro_to_backward = between(StageSection::forward, StageSection::backward);
  if (local.sections == MicroSections::weights) {
    result.micro_to_weight = between(StageSection::forward, StageSection::weight);
    result.backward_to_weight = between(StageSection::backward, StageSection::weight);
  }
  for (const Transfer& transfer : pipeline.transfers) {
    if (transfer.to_stage != stage || !transfer.in_micro_batches()) continue;
    for (const Section last : {Section::micro, Section::backward, Section::weight}) {
      if (last == Section::weight && local.sections != MicroSections::weights) continue;
      result.inputs[transfer.input][static_cast<size_t>(last) - static_cast<size_t>(Section::micro)] =
          copies(pipeline.sequence, transfer.from_stage, stage_section(transfer.sent), stage, stage_section(last));
    }
  }
  return result;
}

std::vector<RankGroup> rank_groups(int64_t ranks, int64_t groups) {
  if (ranks < groups) {
    throw InvalidArgument(
        "[stages] fewer ranks than groups of stages, got {} ranks for {} groups, expected at least {} ranks, or more "
        "stages on one group (--interleave)",
        ranks, groups, groups);
  }
  std::vector<RankGroup> result;
  int first = 0;
  for (int64_t group = 0; group < groups; ++group) {
    const int count = static_cast<int>(ranks * (group + 1) / groups) - first;
    result.push_back({first, count});
    first += count;
  }
  return result;
}

}  // namespace partita
