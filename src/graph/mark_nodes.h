#pragma once
// Marks by name, for networks whose code is not one's own.

#include "graph/graph.h"

namespace partita {

/// `nodes`: the name of a node ("matmul2", or "%matmul2" as texts print it), or where it stands and its op, in which
/// '*' stands for any letters: "net/h/*/mlp/fc1/matmul".
struct NodeMark {
  std::string nodes;
  ShardMark mark;
};

/// "NODES=STRATEGY", as "net/fc1/matmul=((2,4),(1,4))". Throws InvalidArgument.
NodeMark parse_node_mark(std::string_view text);

/// Marks the forward nodes that it names. When there is none throws InvalidArgument with names that there are and the
/// nearest.
void mark_nodes(Graph& graph, const NodeMark& mark);

}  // namespace partita
