#pragma once
// A graph and its plan as one graph and plan for each pipeline stage.

#include "compiler/plan/plan.h"
#include "compiler/plan/stages.h"
#include "ir/graph/rules.h"

namespace partita {

/// The nodes of one stage. Values that another stage makes are inputs `from` it, those that others use are outputs
/// "sent.NAME" `to` them; what is made of states alone comes `once`. Scalar outputs of the whole graph are given by
/// every stage; they, and scalars that updates of another stage need, are marked `verdict`. What runs before the
/// micro-batches (compiler/plan/cut_micro_batches.h) is made of inputs, which every stage is fed: each stage that uses
/// it makes it.
struct StagePart {
  Graph graph;
  Plan plan;
};

/// `plans`: for each stage a plan of the whole graph on the stage's mesh, from which its nodes and values are taken. A
/// value that is sent is a whole sum over ranks and, where micro-batches do not cut it, over these, cut by all axes
/// that can cut it: each element passes once, and is gathered where it is used. `rules` are those of the graph.
std::vector<StagePart> split_stages(const Graph& graph, const Rules& rules, const StageAssignment& stages,
                                    const std::vector<Plan>& plans);

}  // namespace partita
