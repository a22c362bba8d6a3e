#pragma once
// Consistency of a node's cut with the shardings of its operands and results.

#include "compiler/partition/local_graph.h"

namespace partita {

/// Checks that the shardings of a node's operands and results follow from its cut or, for a collective, differ by what
/// the collective does. Throws InternalError otherwise, InvalidArgument for a collective over an axis that the mesh
/// lacks.
void verify_shardings(const LocalGraph& local, NodeId id, const Rules& rules);

}  // namespace partita
