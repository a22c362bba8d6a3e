#pragma once
// Text for people about what one rank does: shapes, strategies and communication.

#include "compiler/partition/local_graph.h"

namespace partita {

/// Returns a line for each node: its values, their shardings and the shapes that the rank holds. A node that is cut
/// also has its strategy, `in_strategy: ((2, 4), (4, 1))`. A collective also has the ranks of its group, its bytes and
/// its reason.
std::string print_rank(const LocalGraph& local, const OpSet& ops, int64_t rank);

}  // namespace partita
