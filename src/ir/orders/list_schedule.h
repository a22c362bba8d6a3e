#pragma once
// Greedy list scheduling: whenever a group is idle it starts the best slot that is ready.

#include <array>
#include <functional>

#include "ir/orders/section_graph.h"

namespace partita {

/// An idle group takes a ready backward slot first, then a weight slot, then a forward slot.
struct ListRules {
  /// Per stage: forward slots that may have begun while their backward slot is not finished; empty: all.
  std::vector<int64_t> in_flight{};
  /// Such a number is in flight whenever a backward slot begins, until no forward slot is left. Where nothing could run
  /// otherwise there are fewer.
  bool keeps_in_flight = false;
  /// Per stage: a weight slot waits for the backward slot so many micro-batches later, or the last one; empty: 0.
  std::vector<int64_t> weight_delay{};
  /// Per group: as many forward slots are in flight, over its stages, whenever a backward slot begins, until no forward
  /// slot is left. Where nothing could run otherwise there are more or fewer. Empty: any number.
  std::vector<int64_t> group_in_flight{};
  /// Whether a group begins the slots of a section in the order of their priority, and waits for those that are not
  /// ready. Where nothing could run otherwise a later one is taken.
  bool keeps_priority = false;
  /// Of ready slots of one section the lowest is taken.
  std::function<std::array<int64_t, 3>(const Slot&)> priority{};
};

/// What each group runs, under the times of the graph. n log(stages) for n slots.
GroupQueues list_schedule(const SectionGraph& graph, const ListRules& rules);

}  // namespace partita
