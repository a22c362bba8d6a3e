#pragma once
// The text form of graphs. Local graphs print and parse through the same functions plus their additions to types and
// nodes, so that on one rank both texts are equal.

#include <functional>

#include "ir/graph/graph.h"

namespace partita {

/// The additions that a text makes to a graph.
struct GraphTexts {
  std::string mesh;      // printed on a separate line; "" = none
  std::string sections;  // printed after "sections" on a separate line; "" = none
  std::function<std::string(ValueId)> type;
  std::function<std::string(NodeId)> note = nullptr;  // printed after a node's other properties
};
/// Returns the text form of `graph` with these additions.
std::string print(const Graph& graph, const GraphTexts& texts);

/// A graph and the additions its text makes: the mesh line, each value's type as written ("f32[6{data},4] +sum{data}")
/// and each node's cut ("n={data}"), with their line numbers.
struct AnnotatedGraph {
  Graph graph;
  std::string mesh, sections;
  std::vector<std::string> types, cuts;
  int mesh_line = 0, sections_line = 0;
  std::vector<int> value_lines, node_lines;
};
/// Parses a graph with its additions. Verifies the graph, but not the additions. Throws InvalidArgument, with the line
/// number, for other texts and unknown ops, and for a graph that `verify` (graph.h) refuses, such as one with wrong
/// types or values that are used before they are made.
AnnotatedGraph parse_annotated(std::string_view text, const OpSet& ops);

}  // namespace partita
