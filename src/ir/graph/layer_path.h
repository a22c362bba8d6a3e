#pragma once
// Paths of layers, as users write them.

#include <string>
#include <string_view>

#include "ir/graph/graph.h"

namespace partita {

/// Whether a pattern such as "net/h/0..5" names the layer or node at `path`: whether its parts, between slashes, match
/// the first parts of the path. A part may contain '*' for any characters, or be a range of numbers that includes both
/// ends.
bool matches_layer(std::string_view pattern, std::string_view path);

/// Returns the node's scope and op, "net/fc1/matmul", or only its op without a scope.
std::string path_of_node(const Node& node);

}  // namespace partita
