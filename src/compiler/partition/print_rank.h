#pragma once
// What one rank does, for people: its shapes, its strategies and its communication.

#include "compiler/partition/local_graph.h"

namespace partita {

/// A line for each node: its values, their shardings and the shapes that the rank holds; of a node that is cut its
/// strategy, `in_strategy: ((2, 4), (4, 1))`; of a collective the ranks of its group, its bytes and its reason.
std::string print_rank(const LocalGraph& local, const OpSet& ops, int64_t rank);

}  // namespace partita
