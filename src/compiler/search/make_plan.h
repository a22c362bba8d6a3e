#pragma once
// Makes the plan of a graph on a mesh from the user's options.

#include "compiler/plan/complete_plan.h"
#include "compiler/search/forward_nodes.h"
#include "compiler/search/plan_options.h"
#include "ir/graph/rules.h"

namespace partita {

/// Whether the mode uses sharding annotations of nodes: semi and auto.
bool uses_annotations(Parallel parallel);

/// Returns the mesh of `ranks`, without axes for one rank. If the mode uses annotations, it is the first named layout
/// among them, else that of block sharding, else the axis "ranks". For other modes it is the axis "data". Throws
/// InvalidArgument if the layout has another number of ranks, if the blocks' sizes do not divide them, and for more
/// than kMaxMeshRanks ranks.
Mesh make_mesh(const Graph& graph, int64_t ranks, const PlanOptions& options);

/// Returns a warning if the graph has annotations, the mode does not use them and there are several ranks, else "".
std::string ignored_annotations(const Graph& graph, const Mesh& mesh, const PlanOptions& options);

/// Returns the plan that the options ask for. With annotations or a search, the plan of a graph with the roundings of
/// mixed precision is that of the graph without them (plain_graph.h). Throws InvalidArgument, with the nearest legal
/// choice, if a batch or another dimension does not divide and may not be uneven, if a layerwise parameter, an
/// annotation, the dataset strategy or the block sharding does not fit the graph or the mesh, or if options contradict
/// each other. Throws what `options.costs` throws.
Plan make_plan(const Graph& graph, const OpSet& ops, const Mesh& mesh, const PlanOptions& options);
/// Returns the same plan, and throws as the other overload does. `rules` must be those of the graph.
Plan make_plan(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh, const PlanOptions& options);
/// Returns the decisions that `make_plan` completes if `options.blocks.searched` is set: a search cuts the open forward
/// nodes over the axis of tensor parallelism, and other axes cut the batch. Throws InvalidArgument for an annotation or
/// a dataset strategy that does not fit, annotations that cut over a part of the axis of tensor parallelism, and a mesh
/// that lacks an axis of block sharding or has it in another size. Throws what `options.costs` throws.
PartialPlan searched_blocks(const ForwardNodes& nodes, const Mesh& mesh, const PlanOptions& options);

}  // namespace partita
