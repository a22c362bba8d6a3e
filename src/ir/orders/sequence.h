#pragma once
// Pipeline orders: which section of which stage runs when, for all micro-batches of a step. Nothing here knows graphs.

#include <cstdint>
#include <string>
#include <vector>

#include "base/names.h"

namespace partita {

/// The parts of a micro-batch on a stage. Orders without weight slots compute the gradients of weights in `backward`.
enum class StageSection { forward, backward, weight };
template <>
inline constexpr auto kNames<StageSection> = names("forward", "backward", "weight");
inline constexpr int kStageSections = 3;

/// One run of a section.
struct Slot {
  int stage = 0;
  StageSection section = StageSection::forward;
  int64_t micro_batch = 0;
  bool operator==(const Slot&) const = default;
};

/// One global order; what a rank runs is a projection of it. In each section of a stage micro-batches increase.
using Sequence = std::vector<Slot>;

/// Which section of a stage needs what which section of another stage makes, in the same micro-batch. Within a stage
/// backward needs forward, and weight needs backward, without being listed. Where backward computes the gradients of
/// weights, `weight` means backward.
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

/// What an order is made for.
struct PipelineShape {
  std::vector<int> groups;  // per stage: the group of ranks that runs it, from 0; stages of one group share its ranks
  int64_t micro_batches = 1;
  std::vector<StageTimes> times{};  // per stage; empty: 1 for each of the three
  bool forward_only = false;        // evaluation and prediction: forward slots alone

  int stages() const { return static_cast<int>(groups.size()); }
  int group_count() const;
};

/// The most stages times micro-batches.
inline constexpr int64_t kMaxStageMicroBatches = int64_t{1} << 24;

/// Stage s to s + 1 forward, s + 1 to s backward. The list of a graph may have more: skips over stages.
std::vector<Dependency> chain_of(int stages);

enum class Order { gpipe, one_forward_one_backward, interleaved, zero_bubble };
template <>
inline constexpr auto kNames<Order> = names("gpipe", "1f1b", "interleaved", "zero_bubble");

/// All slots in a topological order of the dependencies, sorted by estimated start, slots of one start by group. Throws
/// InvalidArgument for a shape or dependencies that no order can be made for.
Sequence make_sequence(Order order, const PipelineShape& shape, const std::vector<Dependency>& dependencies);

/// "F3"; "F3.1" for stage 1 with `with_stage`.
std::string short_name(const Slot& slot, bool with_stage);
/// "stage 1 F3".
std::string long_name(const Slot& slot);

}  // namespace partita
