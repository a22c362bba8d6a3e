#pragma once
// Extends a plan over ranks by cuts over time: micro-batches.

#include "compiler/plan/micro_cuts.h"
#include "compiler/plan/plan.h"
#include "ir/graph/rules.h"

namespace partita {

/// Returns the plan of a step that runs `count` micro-batches in sequence, `plan` itself for 1. Each is a slice of the
/// global batch, cut over the ranks as the plan cuts the whole.
/// A node whose operands are slices is cut over the axis of micro-batches where they are. A node that nothing cuts (a
/// constant, the broadcast of a scalar) is cut if all of its users need it so. Updates run after the last micro-batch,
/// as does any other node that needs a sum over all of them.
/// A node of one micro-batch may need such a sum if the sum depends only on inputs and on states that training does not
/// change (the number of valid labels). A loop before the first micro-batch then computes it.
/// Throws InvalidArgument, with what is legal, if `count` is not in 1 to kMaxMicroBatches or does not divide the batch,
/// if a micro-batch has fewer rows than its ranks, if a node cannot be cut so, if a node of one micro-batch needs
/// another result of all of them (with the node that made it so), or if an axis of ranks is called "micro".
Plan cut_micro_batches(Plan plan, const Graph& graph, const Rules& rules, int64_t count);
/// Returns the plan with cuts that `find_micro_cuts` found for this graph merged into it. Throws InvalidArgument if
/// their number does not divide the batch, if a micro-batch has fewer rows than its ranks, if a node cannot be cut so,
/// or if an axis of ranks is called "micro".
Plan cut_micro_batches(Plan plan, const Graph& graph, const Rules& rules, const MicroCuts& cuts);

/// Checks a plan that was read, if it has micro-batches. Throws InvalidArgument unless they cut inputs, nodes and
/// results where `cut_micro_batches` cuts them, and no states or outputs, and if that function would refuse the graph
/// or the rows. How ranks cut them is not checked.
void verify_micro_batches(const Plan& plan, const Graph& graph, const Rules& rules);

/// Returns for each node of a plan with micro-batches whether it runs before the first one: it helps to compute what a
/// node of one micro-batch needs of all of them, for each micro-batch or once. All false without micro-batches. Throws
/// InvalidArgument as `cut_micro_batches` does.
std::vector<bool> before_micro_batches(const Plan& plan, const Graph& graph, const Rules& rules);

/// Checks that `count`, at least 1, divides `batch`. Throws InvalidArgument, with the first numbers that do, otherwise.
void require_whole_micro_batches(int64_t batch, int64_t count);

}  // namespace partita
