#pragma once
// Shardings of outputs that differ from what their nodes produce.

#include "compiler/plan/plan.h"

namespace partita {

/// Returns the plan with the output "logits" sharded by rows, so that each rank reads the labels of its rows: over the
/// axes that cut the rows of the input "label", then over those that cut the logits otherwise, as far as there are
/// rows. Returns the plan unchanged if the graph has no output "logits" with a dimension, or no input "label" whose
/// dimension 0 is the batch.
Plan with_logits_in_rows(Plan plan, const Graph& graph, const OpSet& ops);

/// Returns the plan for an evaluation: the output "logits" as `with_logits_in_rows` shards it, all other outputs whole
/// on each rank.
Plan with_outputs_to_read(Plan plan, const Graph& graph, const OpSet& ops);

}  // namespace partita
