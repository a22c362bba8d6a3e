#pragma once
// One function per pipeline order, each in a file of its name. Each returns the slots that every group runs.

#include "ir/orders/section_graph.h"

namespace partita {

/// Returns slots with all forward passes before all backward passes (Huang et al., "GPipe", 2019). GPipe runs backwards
/// from the last micro-batch to the first; here every section runs from the first to the last. Counts one second per
/// section, not the times of `graph`.
GroupQueues gpipe(const SectionGraph& graph);

/// Returns slots, by one second per section, that keep at most S - s micro-batches in flight on stage s of S, then
/// alternate one backward pass with one forward pass (Narayanan et al., "PipeDream", 2019; with one update per step as
/// in "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", 2021).
GroupQueues one_forward_one_backward(const SectionGraph& graph);

/// Returns slots that interleave the stages (chunks) of each group. A round, one micro-batch per group, goes through
/// one chunk before the next chunk takes it (Narayanan et al., 2021, section 2.2.2). Designed for stage s on group s
/// modulo the number of groups and for whole rounds. Returns 1f1b where that takes less time in unit times, and where
/// each group has one stage.
GroupQueues interleaved(const SectionGraph& graph);

/// Returns the forward passes of `interleaved`, for graphs without backward.
GroupQueues forwards_alone(const SectionGraph& graph);

/// Returns the slots of ZB-H1 (Qi et al., "Zero Bubble Pipeline Parallelism", 2024): the gradients of weights are
/// separate slots that fill the bubbles of 1f1b. From forward to backward the number of micro-batches in flight is that
/// of 1f1b; from forward to weight it is at most the number of stages, on every stage. Returns the faster of the orders
/// made by one second per section and by the times of `graph`, which must have weight slots.
GroupQueues zero_bubble(const SectionGraph& graph);

}  // namespace partita
