#pragma once
// A sharding annotation by node name.

#include <string>
#include <string_view>

#include "ir/sharding/annotation.h"

namespace partita {

/// A pattern of nodes and the annotation they get. `nodes` is the name of a node ("matmul2", or "%matmul2" as in graph
/// texts), or its scope and op, where '*' stands for any characters: "net/h/*/mlp/fc1/matmul".
struct NodeAnnotation {
  std::string nodes;
  ShardingAnnotation annotation;
};

/// Parses "NODES=STRATEGY", such as "net/fc1/matmul=((2,4),(1,4))". Throws InvalidArgument for any other text.
NodeAnnotation parse_node_annotation(std::string_view text);

}  // namespace partita
