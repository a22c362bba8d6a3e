#pragma once
// Pipeline orders: when each section of each stage runs, for all micro-batches of a step. Independent of graphs.

#include <cstdint>
#include <string>
#include <vector>

#include "base/names.h"

namespace partita {

/// The parts of a micro-batch on a stage. Orders without weight slots compute the gradients of weights in `backward`.
enum class StageSection { forward, backward, weight };
constexpr auto value_names(StageSection) { return names("forward", "backward", "weight"); }
inline constexpr int kStageSections = 3;

/// One run of a section for one micro-batch.
struct Slot {
  int stage = 0;
  StageSection section = StageSection::forward;
  int64_t micro_batch = 0;
  bool operator==(const Slot&) const = default;
};

/// A global order; each rank runs a projection of it. Micro-batches increase within each section of a stage.
using Sequence = std::vector<Slot>;

/// A section of one stage needs a result of a section of another, in the same micro-batch. Within a stage, backward
/// needs forward and weight needs backward without being listed. Where backward computes the gradients of weights,
/// `weight` means backward.
struct Dependency {
  int from_stage;
  StageSection from;
  int to_stage;
  StageSection to;
  bool operator==(const Dependency&) const = default;
};

/// Estimated times, in one unit for all stages. A backward slot of an order without weight slots takes backward +
/// weight.
struct StageTimes {
  double forward = 0;
  double backward = 0;
  double weight = 0;
};

/// The pipeline that an order is made for.
struct PipelineShape {
  std::vector<int> groups;  // per stage: the group of ranks that runs it, from 0
  int64_t micro_batches = 1;
  std::vector<StageTimes> times{};  // per stage; empty: 1 for each section
  bool forward_only = false;        // evaluation and prediction: forward slots only

  int stages() const { return static_cast<int>(groups.size()); }
  /// Number of groups: the highest group + 1, or 0 without stages.
  int group_count() const;
};

/// Maximum of stages times micro-batches.
inline constexpr int64_t kMaxStageMicroBatches = int64_t{1} << 24;

/// Returns the dependencies of a chain: stage s before s + 1 forward, s + 1 before s backward. A graph may have more,
/// which skip stages.
std::vector<Dependency> chain_of(int stages);

enum class Order { gpipe, one_forward_one_backward, interleaved, zero_bubble };
constexpr auto value_names(Order) { return names("gpipe", "1f1b", "interleaved", "zero_bubble"); }

/// Returns all slots in a topological order of the dependencies, by estimated start and then by group. Throws
/// InvalidArgument for a bad shape (no or too many stages or micro-batches, groups that are not 0 to the highest,
/// negative times or too few) and for bad dependencies (of unknown stages, on a later section, or in a cycle).
Sequence make_sequence(Order order, const PipelineShape& shape, const std::vector<Dependency>& dependencies);

/// Returns the letter of the section (F: forward, B: backward, W: weight) and the micro-batch, from 0: "F3". Appends
/// the stage, "F3.1", if `with_stage`.
std::string short_name(const Slot& slot, bool with_stage);
/// Returns the stage and the `short_name` without it: "stage 1 F3".
std::string long_name(const Slot& slot);

}  // namespace partita
