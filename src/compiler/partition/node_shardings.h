#pragma once
// How the shardings of a node's operands, its cut and the shardings of its results belong together.

#include "compiler/partition/local_graph.h"

namespace partita {

/// Throws InternalError unless the shardings of a node's operands and results follow from its cut, or, of a
/// collective, differ by what it does.
void verify_shardings(const LocalGraph& local, NodeId id, const Rules& rules);

}  // namespace partita
