#pragma once
// From a plan in space to one that is cut in time too.

#include "compiler/plan/micro_cuts.h"
#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

/// The plan of a step that runs `count` micro-batches one after the other: slices of the global batch, each cut as the
/// plan cuts the whole. Every node whose operands are slices is cut over the axis of micro-batches where they are; a
/// node that nothing cuts (a constant, the broadcast of a scalar) as all of its users need it. Updates come after the
/// last micro-batch, as does what needs a sum over all of them first. A node of one micro-batch may need such a sum
/// where that is made of inputs alone and of states that the training does not change (the count of valid labels): a
/// loop before the first micro-batch makes it.
///
/// Throws InvalidArgument with what is legal: a batch that does not divide, or has fewer rows than its ranks; a node
/// of one micro-batch that needs another result of all of them, and the path to it.
Plan cut_micro_batches(Plan plan, const Graph& graph, const Rules& rules, int64_t count);
/// The same of cuts that were found for the graph.
Plan cut_micro_batches(Plan plan, const Graph& graph, const Rules& rules, const MicroCuts& cuts);

/// Of a plan that was read: throws InvalidArgument unless micro-batches cut inputs, nodes and results where
/// cut_micro_batches cuts them. How ranks cut them is not looked at.
void verify_micro_batches(const Plan& plan, const Graph& graph, const Rules& rules);

/// Of a plan that is cut so, per node: whether it makes, for each micro-batch or of all of them, what a node of one
/// micro-batch needs of all of them.
std::vector<bool> before_micro_batches(const Plan& plan, const Graph& graph, const Rules& rules);

/// Throws InvalidArgument, as cut_micro_batches does, with the numbers that divide a batch.
void require_whole_micro_batches(int64_t batch, int64_t count);

}  // namespace partita
