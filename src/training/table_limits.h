#pragma once
// Which columns of rows are ids of which tables.

#include "frontend/data/views/checked_ids.h"
#include "ir/graph/op_def.h"

namespace partita {

/// Of each table that is looked up by an input of the graph, also through casts and ops that only move elements.
std::vector<IdLimit> table_limits(const Graph& graph, const OpSet& ops);

}  // namespace partita
