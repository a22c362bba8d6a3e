#pragma once
// Layers of a forward graph by their paths, as users write them.

#include <optional>

#include "ir/graph/graph.h"

namespace partita {

/// Every node whose path begins with a text is of its layers. A part of the path may hold '*', which stands for any
/// letters, or be a range of numbers: "net/h/0..5". "net/add#2" is one node alone, by its name in the network.
class LayerNames {
 public:
  /// The graph outlives this; it is not changed but for marks of its nodes.
  explicit LayerNames(const Graph& graph) : graph_(graph) {}

  /// Forward nodes. Throws InvalidArgument "[where] no such layer .." when there is none.
  std::vector<size_t> nodes_of(std::string_view layers, std::string_view where) const;

 private:
  bool matches(std::string_view layers, size_t node) const;

  const Graph& graph_;
  mutable std::optional<std::vector<std::string>> names_{};  // per node, once they are needed
};

/// Where a node stands and its op: "net/fc1/matmul".
std::string path_of_node(const Node& node);

/// A whole number that a text consists of.
std::optional<int64_t> whole_number(std::string_view text);

}  // namespace partita
