#include "ir/graph/annotate_nodes.h"

#include <algorithm>

#include "base/error.h"
#include "base/listed.h"
#include "base/wildcard.h"
#include "ir/graph/layer_path.h"

namespace partita {
namespace {

constexpr size_t kShownNames = 8;

/// Returns up to kShownNames of the names, those that contain `text` first, as text: "a, b and 3 more".
std::string some_of(std::vector<std::string> names, std::string_view text) {
  std::stable_partition(names.begin(), names.end(),
                        [&](const std::string& name) { return name.find(text) != std::string::npos; });
  return first_of(names, kShownNames);
}

/// Returns the indices, ascending, of the forward nodes whose name is `nodes`, with or without '%', or whose scope and
/// op match it as a pattern with '*'. Throws InvalidArgument if there are none.
std::vector<size_t> nodes_named(const Graph& graph, const std::string& nodes) {
  std::vector<size_t> found;
  std::vector<std::string> places;
  // A leading '%' is accepted, as in graph texts.
  const std::string_view name = std::string_view(nodes).substr(nodes.starts_with('%') ? 1 : 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.phase != Phase::forward) continue;
    places.push_back(path_of_node(node));
    if (name == node.name || matches_wildcard(name, places.back())) found.push_back(n);
  }
  if (!found.empty()) return found;
  std::vector<std::string> names = places;
  for (const Node& node : graph.nodes) names.push_back(node.name);
  throw InvalidArgument(ErrorKind::key,
                        "[shard] unknown node, got '{}', expected one of the {} nodes of graph {}, such as {}{}", nodes,
                        places.size(), graph.name, some_of(places, name), did_you_mean(name, names));
}

}  // namespace

NodeAnnotation parse_node_annotation(std::string_view text) {
  // Named layouts contain '=' too, but after the first parenthesis or bracket.
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || text.find_first_of("([") < equals) {
    throw InvalidArgument(
        "[--shard] no nodes are named, got '{}', expected NODES=STRATEGY, such as net/fc1/matmul=((2,4),(1,4))", text);
  }
  return {std::string(text.substr(0, equals)), parse_annotation(text.substr(equals + 1))};
}

void annotate_nodes(Graph& graph, const std::vector<NodeAnnotation>& annotations) {
  std::vector<const NodeAnnotation*> chosen(graph.nodes.size(), nullptr);
  for (const NodeAnnotation& annotation : annotations) {
    for (const size_t n : nodes_named(graph, annotation.nodes)) {
      if (chosen[n] != nullptr) {
        throw InvalidArgument("[shard] a node is annotated twice, got '{}' and '{}' for {}, expected one annotation",
                              chosen[n]->nodes, annotation.nodes, path_of_node(graph.nodes[n]));
      }
      chosen[n] = &annotation;
      graph.nodes[n].annotation = annotation.annotation;
    }
  }
}

}  // namespace partita
