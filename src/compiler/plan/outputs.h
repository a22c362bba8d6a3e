#pragma once
// How the outputs of a graph are cut, where their users want them otherwise than their nodes leave them.

#include "compiler/plan/plan.h"

namespace partita {

/// The plan with the output "logits" cut into rows, of which each rank reads the labels: by the axes that cut the rows
/// of the input "label", then by those that cut the logits otherwise. The plan itself for a graph without one of them.
Plan with_logits_in_rows(Plan plan, const Graph& graph, const OpSet& ops);

/// The same for an evaluation, with all other outputs whole on every rank.
Plan with_outputs_to_read(Plan plan, const Graph& graph, const OpSet& ops);

}  // namespace partita
