#pragma once
// Text for people about what one rank does: shapes, strategies and communication.

#include "compiler/partition/local_graph.h"

namespace partita {

/// Returns a line with the rank and the mesh, then one for each input, state, node and output: its values, their
/// shardings and the shapes that the rank holds. A cut node also has its strategy, such as `in_strategy: ((2, 4), (4,
/// 1))`. A collective also has the ranks of its group, its bytes and its reason. Throws InternalError if the mesh lacks
/// the rank.
std::string print_rank(const LocalGraph& local, const OpSet& ops, int64_t rank);

}  // namespace partita
