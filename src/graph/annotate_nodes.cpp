#include "graph/annotate_nodes.h"

#include <algorithm>

#include "base/error.h"

namespace partita {
namespace {

/// Whether `text` is `pattern`, in which '*' stands for any letters. Takes as long as both lengths multiplied.
bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resumed = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resumed = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resumed;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

constexpr size_t kShownNames = 8;

/// Some of the names, those first that hold `text`.
std::string some_of(std::vector<std::string> names, std::string_view text) {
  std::stable_partition(names.begin(), names.end(),
                        [&](const std::string& name) { return name.find(text) != std::string::npos; });
  const size_t shown = std::min(names.size(), kShownNames);
  const std::string more = names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "), more);
}

}  // namespace

NodeAnnotation parse_node_annotation(std::string_view text) {
  // Named layouts have '=' too, but behind the first parenthesis or bracket.
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || text.find_first_of("([") < equals) {
    throw InvalidArgument(
        fmt::format("[--shard] no node, got '{}', expected NODES=STRATEGY, as net/fc1/matmul=((2,4),(1,4))", text));
  }
  return {std::string(text.substr(0, equals)), parse_annotation(text.substr(equals + 1))};
}

void annotate_nodes(Graph& graph, const NodeAnnotation& annotation) {
  bool found = false;
  std::vector<std::string> places;
  // As a graph's text has it, %matmul2, or without the sign.
  const std::string_view name = std::string_view(annotation.nodes).substr(annotation.nodes.starts_with('%') ? 1 : 0);
  for (Node& node : graph.nodes) {
    if (node.phase != Phase::forward) continue;
    places.push_back(node.scope.empty() ? node.op : node.scope + "/" + node.op);
    if (name != node.name && !matches(name, places.back())) continue;
    node.annotation = annotation.annotation;
    found = true;
  }
  if (found) return;
  std::vector<std::string> names = places;
  for (const Node& node : graph.nodes) names.push_back(node.name);
  throw InvalidArgument(
      fmt::format("[shard] no such node, got '{}', expected one of the {} nodes of graph {}, as {}{}", annotation.nodes,
                  places.size(), graph.name, some_of(places, name), did_you_mean(name, names)),
      ErrorKind::key);
}

}  // namespace partita
