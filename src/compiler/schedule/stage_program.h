#pragma once
// Programs of the stages of a pipeline and how they run together. A program without stages has one.

#include <functional>

#include "compiler/partition/transfers.h"
#include "compiler/plan/plan.h"
#include "compiler/schedule/schedule.h"
#include "ir/orders/sequence.h"

namespace partita {

/// Program of one stage. `plan` is a plan for `graph`.
struct StageProgram {
  Graph graph;
  Plan plan;
  LocalGraph local;
  Schedule schedule;
};

/// Consecutive ranks of the world. In the group's mesh they count from 0.
struct RankGroup {
  int first = 0, count = 1;
  bool contains(int64_t rank) const { return rank >= first && rank < first + count; }
  bool operator==(const RankGroup&) const = default;
};

struct Pipeline {
  std::vector<RankGroup> groups{{}};  // in the order of their ranks
  PipelineShape shape{.groups = {0}};
  std::vector<Transfer> transfers{};
  Sequence sequence{};  // empty for one stage, which runs one micro-batch after the other

  const RankGroup& group_of(int stage) const {
    return groups[static_cast<size_t>(shape.groups[static_cast<size_t>(stage)])];
  }
  int64_t ranks() const { return groups.back().first + groups.back().count; }
};

/// Returns the part of a micro-batch that a section is: forward for micro. Throws InternalError unless the section is
/// micro, backward or weight.
StageSection stage_section(Section section);

/// Returns which sections of the stages need results of which others in the same micro-batch, each pair once, in the
/// order of `transfers`. A stage that receives gradients waits for them in its backward pass, even if only its weights
/// need them. Values that are not sent, or not used, in the micro-batches do not count.
std::vector<Dependency> dependencies_of(const std::vector<Transfer>& transfers);

/// Returns the FLOPs of a rank in one run of each section, in billions, in the order of Section. Each node counts one
/// more than it computes; collectives do not count.
std::array<double, kSections.size()> work_of_sections(const LocalGraph& local, const OpSet& ops);
/// Returns the FLOPs of the sections micro, backward and weight (`work_of_sections`), in billions, as times of a stage.
/// `backward` includes gradients of weights if these have no section of their own.
StageTimes estimated_times(const LocalGraph& local, const OpSet& ops);

/// Returns the sum of `bytes_of(stage)` over the stages of each group, saturated at the maximum int64_t.
std::vector<int64_t> bytes_of_groups(const Pipeline& pipeline, const std::function<int64_t(size_t stage)>& bytes_of);

/// Returns the number of micro-batches that a stage has in flight under the pipeline's sequence; 1 of everything if
/// `local` is no pipeline stage.
InFlight in_flight_of(const Pipeline& pipeline, int stage, const LocalGraph& local);

/// Returns the ranks from 0 in contiguous groups, whose sizes differ by at most one. Throws InvalidArgument for fewer
/// ranks than groups.
std::vector<RankGroup> rank_groups(int64_t ranks, int64_t groups);

}  // namespace partita
