#pragma once
// The text form of graphs. Local graphs print and parse through the same functions, with what they add to
// types and nodes, so that on one rank both texts are equal.

#include <functional>

#include "ir/graph/graph.h"

namespace partita {

struct GraphTexts {
  std::string mesh;      // a line of its own, or ""
  std::string sections;  // behind "sections" on a line of its own, or ""
  std::function<std::string(ValueId)> type;
  std::function<std::string(NodeId)> note = nullptr;  // printed after the other properties of a node
};
std::string print(const Graph& graph, const GraphTexts& texts);

/// A graph and what its text says beyond: the mesh line, each value's type as it was written
/// ("f32[6{data},4] +sum{data}"), the cut of each node ("n={data}"), with the lines where these stand.
struct AnnotatedGraph {
  Graph graph;
  std::string mesh, sections;
  std::vector<std::string> types, cuts;
  int mesh_line = 0, sections_line = 0;
  std::vector<int> value_lines, node_lines;
};
/// Throws InvalidArgument with the line number; the graph is verified, its annotations are not.
AnnotatedGraph parse_annotated(std::string_view text, const OpSet& ops);

}  // namespace partita
