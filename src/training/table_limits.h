#pragma once
// The id columns of rows, and the tables that they index.

#include "frontend/data/views/checked_ids.h"
#include "ir/graph/op_def.h"

namespace partita {

/// Returns, for each table that an input of the graph looks up, the input's column, the table's name and its number of
/// rows. Look-ups through casts and ops that only move elements count, too.
std::vector<IdLimit> table_limits(const Graph& graph, const OpSet& ops);

}  // namespace partita
