#pragma once
// Splits a graph and its plans into those of each pipeline stage.

#include "compiler/plan/plan.h"
#include "compiler/plan/stages.h"
#include "ir/graph/rules.h"

namespace partita {

/// Graph and plan of one stage. A value that another stage makes is an input `from` that stage. A value that others use
/// is an output "sent.NAME" `to` them; one that depends only on states is sent `once`.
/// Every stage returns the scalar outputs of the whole graph. These, and scalars that updates of another stage need,
/// are marked `verdict` where they are sent.
/// Nodes that run before the micro-batches (compiler/plan/cut_micro_batches.h) depend only on inputs, which every stage
/// receives, so each stage that uses their results runs them.
struct StagePart {
  Graph graph;
  Plan plan;
};

/// Returns the part of each stage; a single stage gets the graph and its plan as they are. `plans`: for each stage, a
/// plan of the whole graph on the stage's mesh. `rules` are those of the graph.
/// A value is reduced before it is sent: over ranks, and over micro-batches if they do not cut it. It is cut over all
/// axes that can cut it, so that each element is sent once and gathered where it is used. Throws InvalidArgument if the
/// micro-batches of the first of several plans do not fit the graph.
std::vector<StagePart> split_stages(const Graph& graph, const Rules& rules, const StageAssignment& stages,
                                    const std::vector<Plan>& plans);

}  // namespace partita
