#include "graph/mark_nodes.h"

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

}  // namespace

NodeMark parse_node_mark(std::string_view text) {
  // Named layouts have '=' too, but behind the first parenthesis or bracket.
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || text.find_first_of("([") < equals) {
    throw InvalidArgument(
        fmt::format("[--shard] no node, got '{}', expected NODES=STRATEGY, as net/fc1/matmul=((2,4),(1,4))", text));
  }
  return {std::string(text.substr(0, equals)), parse_shard_mark(text.substr(equals + 1))};
}

void mark_nodes(Graph& graph, const NodeMark& mark) {
  bool found = false;
  std::vector<std::string> names;
  for (Node& node : graph.nodes) {
    if (node.phase != Phase::forward) continue;
    const std::string place = node.scope.empty() ? node.op : node.scope + "/" + node.op;
    names.push_back(node.name);
    names.push_back(place);
    if (mark.nodes != node.name && !matches(mark.nodes, place)) continue;
    node.mark = mark.mark;
    found = true;
  }
  if (found) return;
  throw InvalidArgument(fmt::format("[shard] no such node, got '{}', expected one of the {} nodes of graph {}{}",
                                    mark.nodes, names.size() / 2, graph.name, did_you_mean(mark.nodes, names)),
                        ErrorKind::key);
}

}  // namespace partita
