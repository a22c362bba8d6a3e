#pragma once
// The id columns of rows, and the tables that they index.

#include "frontend/data/views/checked_ids.h"
#include "ir/graph/op_def.h"

namespace partita {

/// Returns, for each pair of an input of the graph and a table that it looks up, once and in the order of the nodes,
/// the input's name as the column, the table's name and its number of rows. Look-ups through casts and ops that only
/// move elements count, too.
std::vector<IdLimit> table_limits(const Graph& graph, const OpSet& ops);

}  // namespace partita
