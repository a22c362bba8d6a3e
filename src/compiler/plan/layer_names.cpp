#include "compiler/plan/layer_names.h"

#include "compiler/plan/network_names.h"

namespace partita {
namespace {

/// Whether `layers` is `name`, or `name` followed by "#1": "net/add#1" for "net/add".
bool is_name(std::string_view layers, std::string_view name) {
  return layers == name || (layers.ends_with("#1") && layers.substr(0, layers.size() - 2) == name);
}

}  // namespace

bool LayerNames::matches(std::string_view layers, size_t node) const {
  if (layers.find('#') == layers.npos) return matches_layer(layers, path_of_node(graph_.nodes[node]));
  if (!names_) names_ = network_names(graph_);
  return is_name(layers, (*names_)[node]);
}

std::vector<size_t> LayerNames::nodes_of(std::string_view layers, std::string_view where) const {
  std::vector<size_t> found;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (graph_.nodes[n].phase == Phase::forward && matches(layers, n)) found.push_back(n);
  }
  if (!found.empty()) return found;
  std::vector<std::string> scopes;
  for (const Node& node : graph_.nodes) {
    if (node.phase == Phase::forward && (scopes.empty() || scopes.back() != node.scope)) scopes.push_back(node.scope);
  }
  throw unknown_name(fmt::format("[{}] unknown layer", where), layers, fmt::format("one of {} layers", scopes.size()),
                     scopes);
}

}  // namespace partita
