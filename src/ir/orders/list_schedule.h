#pragma once
// Greedy list scheduling: an idle group starts the best slot that is ready.

#include <array>
#include <functional>

#include "ir/orders/section_graph.h"

namespace partita {

/// Rules of the schedule. An idle group prefers a ready backward slot, then a weight slot, then a forward slot.
struct ListRules {
  /// Per stage: maximum number of forward slots begun while their backward slot is not finished. Empty = no limit.
  std::vector<int64_t> in_flight{};
  /// Whether exactly `in_flight` micro-batches are in flight whenever a backward slot begins, until no forward slot is
  /// left. If nothing could run otherwise, there are fewer. Requires `in_flight`.
  bool keeps_in_flight = false;
  /// Per stage: a weight slot waits for the backward slot this many micro-batches later, or for the last one. Empty =
  /// 0.
  std::vector<int64_t> weight_delay{};
  /// Per group: number of forward slots in flight, over its stages, whenever a backward slot begins, until no forward
  /// slot is left. If nothing could run otherwise, there are more or fewer. Empty = any number.
  std::vector<int64_t> group_in_flight{};
  /// Whether a group begins the slots of a section in priority order and waits for those that are not ready. If nothing
  /// could run otherwise, it takes a later one.
  bool keeps_priority = false;
  /// Priority of ready slots of one section: the lowest is taken first. Required.
  std::function<std::array<int64_t, 3>(const Slot&)> priority{};
};

/// Returns the slots of each group, in order, under the times of the graph. Breaks the rules where nothing could run
/// otherwise. O(n log(stages)) for n slots.
GroupQueues list_schedule(const SectionGraph& graph, const ListRules& rules);

}  // namespace partita
