#pragma once
// Annotations by name, for networks whose code is not one's own.

#include "ir/graph/graph.h"

namespace partita {

/// `nodes`: the name of a node ("matmul2", or "%matmul2" as texts print it), or where it stands and its op, in which
/// '*' stands for any letters: "net/h/*/mlp/fc1/matmul".
struct NodeAnnotation {
  std::string nodes;
  ShardingAnnotation annotation;
};

/// "NODES=STRATEGY", as "net/fc1/matmul=((2,4),(1,4))". Throws InvalidArgument.
NodeAnnotation parse_node_annotation(std::string_view text);

/// Annotates the forward nodes that are named, also those that the network annotates. Throws InvalidArgument when a
/// name is that of no node, with names that there are and the nearest, and when two name one node.
void annotate_nodes(Graph& graph, const std::vector<NodeAnnotation>& annotations);

}  // namespace partita
