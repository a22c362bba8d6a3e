#pragma once
// The id columns of rows, and the tables that they index.

#include "frontend/data/views/checked_ids.h"
#include "ir/graph/op_def.h"

namespace partita {

/// Returns the number of rows of each table that an input of the graph looks up, with the input's column. Look-ups
/// through casts and ops that only move elements count, too.
std::vector<IdLimit> table_limits(const Graph& graph, const OpSet& ops);

}  // namespace partita
