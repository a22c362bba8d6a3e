#pragma once
// Simulates an order under estimated times, without data.

#include <vector>

#include "ir/orders/section_graph.h"

namespace partita {

/// When a slot runs, in the unit of the shape's times.
struct TimedSlot {
  Slot slot;
  double start = 0, end = 0;
};

/// The timeline of one step.
struct Simulation {
  std::vector<TimedSlot> slots;  // by start, then by group; a topological order
  double seconds = 0;            // until the last end
  std::vector<double> idle{};    // idle time per group
  /// Returns the fraction of the time in which a group, or the average group, is idle; 0 if the step takes no time.
  double bubble(int group) const;
  double bubble() const;
};

/// Simulates a sequence. Each group runs its slots in order, each as soon as the group is free and its needs are done;
/// transfers take no time. O(n log(groups)) for n slots. Throws InvalidArgument, naming the cycle, if the sequence
/// deadlocks, and for a bad shape (bad numbers of stages, micro-batches, groups or times) or bad dependencies (of
/// unknown stages, on a later section, or in a cycle). The slots must be those of the shape (check.h).
Simulation simulate(const Sequence& sequence, const PipelineShape& shape, const std::vector<Dependency>& dependencies);
Simulation simulate(const GroupQueues& queues, const SectionGraph& graph);

/// Returns the slots of a simulation in the order of `slots`: by start, then by group.
Sequence sequence_of(const Simulation& simulation);

/// Returns the slots of the sequence that each group runs, in their order. The stages must be those of the shape.
GroupQueues queues_of(const Sequence& sequence, const PipelineShape& shape);

}  // namespace partita
