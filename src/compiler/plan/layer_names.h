#pragma once
// Layers of a forward graph, named by paths that users write.

#include <optional>

#include "ir/graph/layer_path.h"

namespace partita {

/// Finds nodes by the paths of their layers (`matches_layer`), such as "net/h/0..5". "net/add#2" names one node by its
/// name in the network (network_names.h).
class LayerNames {
 public:
  /// The graph must outlive this object. While this exists, only stage marks of its nodes may change.
  explicit LayerNames(const Graph& graph) : graph_(graph) {}

  /// Returns the indices of the forward nodes that the pattern `layers` names, in ascending order. Throws
  /// InvalidArgument "[where] unknown layer .." with the nearest name if there is none.
  std::vector<size_t> nodes_of(std::string_view layers, std::string_view where) const;

 private:
  bool matches(std::string_view layers, size_t node) const;

  const Graph& graph_;
  mutable std::optional<std::vector<std::string>> names_{};  // per node; computed when first needed
};

}  // namespace partita
