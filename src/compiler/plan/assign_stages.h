#pragma once
// Assigns every node of a graph to a pipeline stage.

#include "compiler/plan/stage_annotation.h"
#include "compiler/plan/stages.h"
#include "ir/graph/rules.h"

namespace partita {

/// Sets the stages of the forward nodes that `annotations` name, as a layer's `pipeline_stage` does. Throws
/// InvalidArgument for an annotation that names no forward node, and for a node that two annotations, or one and the
/// code, put on different stages.
void annotate_stages(Graph& graph, const std::vector<StageAnnotation>& annotations);

/// Returns the stage of each node and state. `stages` 0: one more than the highest annotation, 1 without any. 1: a
/// single stage, whatever the annotations say.
/// A graph without annotations is divided into contiguous stages whose forward passes compute about the same number of
/// FLOPs, cut where the fewest bytes pass. In a graph with annotations, a forward node without one is on the highest
/// stage of its operands, else on the lowest of its users. A backward node is on the stage of its origin, a sum of
/// gradients on the lowest stage of its operands, an update on the stage of its state, else on the lowest of its
/// operands. A state is on the lowest stage whose forward pass uses it (0 if none does), an optimizer state on that of
/// its parameter. With several stages, counters, nodes of `free_nodes` and scalars of an update without a state get
/// kEveryStage. Throws InvalidArgument, with the nearest legal choice, if there are more stages than nodes, if a stage
/// has no nodes, if an annotation is beyond the number of stages, or if a node needs the result of a later stage.
StageAssignment assign_stages(const Graph& graph, const Rules& rules, int64_t stages);

/// Returns for each node whether every stage can run it, since it needs only constants, counters and inputs without a
/// batch, which every stage receives.
std::vector<bool> free_nodes(const Graph& graph);

}  // namespace partita
