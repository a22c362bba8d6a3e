#pragma once
// What runs: the programs of the stages of a pipeline, and how they run together. A program without stages is one.

#include <functional>

#include "compiler/partition/transfers.h"
#include "compiler/plan/plan.h"
#include "compiler/schedule/schedule.h"
#include "ir/orders/sequence.h"

namespace partita {

/// The program of one stage. `plan` is one for `graph`.
struct StageProgram {
  Graph graph;
  Plan plan;
  LocalGraph local;
  Schedule schedule;
};

/// Ranks that stand behind one another in the world; in a mesh and in its groups they count from 0.
struct RankGroup {
  int first = 0, count = 1;
  bool contains(int64_t rank) const { return rank >= first && rank < first + count; }
  bool operator==(const RankGroup&) const = default;
};

struct Pipeline {
  std::vector<RankGroup> groups{{}};  // one behind the other
  PipelineShape shape{.groups = {0}};
  std::vector<Transfer> transfers{};
  Sequence sequence{};  // of one stage none: it runs one micro-batch after the other

  const RankGroup& group_of(int stage) const {
    return groups[static_cast<size_t>(shape.groups[static_cast<size_t>(stage)])];
  }
  int64_t ranks() const { return groups.back().first + groups.back().count; }
};

/// The part of a micro-batch that a section is; of those that run for each micro-batch.
StageSection stage_section(Section section);

/// What the sections of the stages need of one another.
std::vector<Dependency> dependencies_of(const std::vector<Transfer>& transfers);

/// What a rank computes in a run of each section, in the order of Section, in billions of floating-point operations.
std::array<double, kSections.size()> work_of_sections(const LocalGraph& local, const OpSet& ops);
/// The same as times of a stage. Where the gradients of weights are no section of their own, `backward` has them.
StageTimes estimated_times(const LocalGraph& local, const OpSet& ops);

/// Sum of `bytes_of(stage)` over the stages of each group; the largest number if a sum is larger.
std::vector<int64_t> bytes_of_groups(const Pipeline& pipeline, const std::function<int64_t(size_t stage)>& bytes_of);

/// How many micro-batches a stage has in flight under the sequence.
InFlight in_flight_of(const Pipeline& pipeline, int stage, const LocalGraph& local);

/// Contiguous groups of ranks, as even as they can be. Throws InvalidArgument for fewer ranks than groups.
std::vector<RankGroup> rank_groups(int64_t ranks, int64_t groups);

}  // namespace partita
