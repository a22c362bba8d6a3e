#pragma once
// Sharding annotations by node name, for networks whose code the user does not edit.

#include "ir/graph/graph.h"
#include "ir/graph/node_annotation.h"

namespace partita {

/// Annotates the forward nodes that match, replacing annotations made by the network. Throws InvalidArgument if a
/// pattern matches no forward node, listing some names and the nearest one, and if two patterns match one node.
void annotate_nodes(Graph& graph, const std::vector<NodeAnnotation>& annotations);

}  // namespace partita
