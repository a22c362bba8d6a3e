#pragma once
// Sharding annotations by node name, for networks whose code the user does not edit.

#include "ir/graph/graph.h"

namespace partita {

/// A pattern of nodes and the annotation they get. `nodes` is the name of a node ("matmul2", or "%matmul2" as in graph
/// texts), or its scope and op, where '*' stands for any characters: "net/h/*/mlp/fc1/matmul".
struct NodeAnnotation {
  std::string nodes;
  ShardingAnnotation annotation;
};

/// Parses "NODES=STRATEGY", such as "net/fc1/matmul=((2,4),(1,4))". Throws InvalidArgument for any other text.
NodeAnnotation parse_node_annotation(std::string_view text);

/// Annotates the forward nodes that match, replacing annotations made by the network. Throws InvalidArgument if a
/// pattern matches no forward node, listing some names and the nearest one, and if two patterns match one node.
void annotate_nodes(Graph& graph, const std::vector<NodeAnnotation>& annotations);

}  // namespace partita
