#pragma once
// One function per order, each in a file of its own: what each group runs.

#include "ir/orders/section_graph.h"

namespace partita {

/// All forwards, then all backwards (Huang et al., "GPipe", 2019; its backwards run from the last micro-batch to the
/// first, here all sections run from the first to the last).
GroupQueues gpipe(const SectionGraph& graph);

/// On stage s of S at most S - s micro-batches are in flight; then one backward for each forward (Narayanan et al.,
/// "PipeDream", 2019; with one update per step as in "Efficient Large-Scale Language Model Training on GPU Clusters
/// Using Megatron-LM", 2021).
GroupQueues one_forward_one_backward(const SectionGraph& graph);

/// The same over the stages (chunks) of each group: as many micro-batches as there are groups, a round, go through one
/// chunk before the next chunk takes them (Narayanan et al., 2021, section 2.2.2). Made for stage s on group s modulo
/// their number and whole rounds; elsewhere it is 1f1b where that takes less time, and where groups have one stage
/// each.
GroupQueues interleaved(const SectionGraph& graph);

/// The forwards of `interleaved`, for graphs without backward.
GroupQueues forwards_alone(const SectionGraph& graph);

/// ZB-H1 (Qi et al., "Zero Bubble Pipeline Parallelism", 2024): gradients of weights are slots of their own that fill
/// the time in which 1f1b waits. From forward to backward as many micro-batches are in flight as in 1f1b; from forward
/// to weight at most as many as there are stages, on every stage.
GroupQueues zero_bubble(const SectionGraph& graph);

}  // namespace partita
