#pragma once
// Stages of one graph, applied to another graph of the same network: those of a training to its evaluations.

#include "compiler/plan/stages.h"

namespace partita {

NamedStages named_stages(const Graph& graph, const StageAssignment& assignment);

/// Assigns a forward graph of the same network, such as that of an evaluation, to the stages in `like`. A node that is
/// not in `like` is on the highest stage of its operands, else on the lowest of its users. No node is on a lower stage
/// than its operands. States keep their stages in `like`; others are on the lowest stage that uses them. Nodes of
/// `free_nodes` and counters get kEveryStage, what nothing uses stage 0. A stage may have no nodes.
StageAssignment follow_stages(const Graph& graph, const NamedStages& like);

}  // namespace partita
