#pragma once
// Decisions only: how every node is cut. Shardings of values follow from the rules.

#include <map>
#include <set>

#include "ir/graph/op_def.h"
#include "ir/sharding/sharding.h"

namespace partita {

struct Plan {
  std::string graph;   // name of the graph it was made for
  std::string search;  // how it was found: "none", "data", "semi", "propagation"
  Mesh mesh;
  std::vector<std::vector<Axes>> inputs;             // per input and then per state of the graph: axes per dimension
  std::vector<Cut> cuts;                             // per node
  std::map<ValueId, std::vector<Axes>> results;      // values that lie otherwise than their nodes leave them
  std::map<std::string, std::vector<Axes>> outputs;  // of the graph, where they lie otherwise than their values
  /// States, by their place, that forward and backward gather anew, so that they take memory only while they are used.
  std::set<size_t> regathered;
};

/// "partita plan 1 ...", with the names of factors: "node conv2d n=data". `graph` gives the names.
std::string print(const Plan& plan, const Graph& graph, const OpSet& ops);
/// Reads a plan for `graph`; nodes that are not named are not cut. Throws InvalidArgument with the line.
Plan parse_plan(std::string_view text, const Graph& graph, const OpSet& ops);
/// Throws InvalidArgument with the node, what was asked and what is legal.
void verify(const Plan& plan, const Graph& graph, const OpSet& ops);

}  // namespace partita
