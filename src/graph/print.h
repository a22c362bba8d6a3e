#pragma once
// The text form of graphs; local graphs print through the same function with their own texts of types
// and attributes, so that on one rank both texts are equal.

#include <functional>

#include "graph/graph.h"

namespace partita {

struct GraphTexts {
  std::function<std::string(ValueId)> type;
  std::function<std::string(NodeId)> attrs;
  std::function<std::string(NodeId)> note = nullptr;  // printed after the other marks of a node
};

std::string print(const Graph& graph, const GraphTexts& texts);

}  // namespace partita
