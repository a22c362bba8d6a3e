#pragma once
// An order under estimated times, without data.

#include <vector>

#include "ir/orders/section_graph.h"

namespace partita {

struct TimedSlot {
  Slot slot;
  double start = 0, end = 0;  // seconds
};

struct Simulation {
  std::vector<TimedSlot> slots;  // by start, those of one start by group; a topological order
  double seconds = 0;            // from the first start to the last end
  std::vector<double> idle{};    // seconds per group
  /// The part of the time in which a group, or the average one, is idle.
  double bubble(int group) const;
  double bubble() const;
};

/// Each group runs its slots in the order of the sequence, each as soon as the group and what the slot needs are ready;
/// transfers take no time. n log(groups) for n slots. Throws InvalidArgument that names the cycle for a sequence that
/// cannot end; the slots of the sequence must be those of the shape (check.h).
Simulation simulate(const Sequence& sequence, const PipelineShape& shape, const std::vector<Dependency>& dependencies);
Simulation simulate(const GroupQueues& queues, const SectionGraph& graph);

/// The slots of a simulation.
Sequence sequence_of(const Simulation& simulation);

/// What each group runs of a sequence.
GroupQueues queues_of(const Sequence& sequence, const PipelineShape& shape);

}  // namespace partita
