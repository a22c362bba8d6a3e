#pragma once
// Shardings of outputs that differ from what their nodes produce.

#include <string_view>

#include "compiler/plan/plan.h"

namespace partita {

/// Names of the outputs by which an evaluation compares logits with the input "label" (op `label_place`).
inline constexpr std::string_view kLabelPlace = "label.place", kFiniteRow = "label.finite";

/// Whether an output is one of these, or "logits" itself.
bool compares_labels(std::string_view output);

/// Returns the plan with the output "logits" sharded by rows, so that each rank reads the labels of its rows: over the
/// axes that cut the rows of the input "label", then over those that cut the logits otherwise, as far as there are
/// rows. If there are kLabelPlace and kFiniteRow instead, the node that makes them is cut so. Returns the plan
/// unchanged if the graph has none of these outputs with a dimension, or no input "label" whose dimension 0 is the
/// batch.
Plan with_logits_in_rows(Plan plan, const Graph& graph, const OpSet& ops);

/// Returns the plan for an evaluation: outputs with rows as `with_logits_in_rows` shards them, all others whole on each
/// rank.
Plan with_outputs_to_read(Plan plan, const Graph& graph, const OpSet& ops);

}  // namespace partita
