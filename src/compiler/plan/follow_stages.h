#pragma once
// The stages of one graph for another graph of the same network: a training's for its evaluations.

#include "compiler/plan/stages.h"

namespace partita {

NamedStages named_stages(const Graph& graph, const StageAssignment& assignment);

/// A forward graph of the same network, as that of an evaluation, on the same stages. States are owned where they are
/// in `like`. A node that is not there is on the highest stage of its operands, or else on the lowest of its users; no
/// node is on a lower stage than its operands. A stage may stay without nodes.
StageAssignment follow_stages(const Graph& graph, const NamedStages& like);

}  // namespace partita
