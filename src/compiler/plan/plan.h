#pragma once
// A plan: how every node is cut. Shardings of values follow from the sharding rules.

#include <map>
#include <set>

#include "ir/graph/op_def.h"
#include "ir/sharding/sharding.h"

namespace partita {

struct Plan {
  std::string graph;   // name of the graph that it was made for
  std::string search;  // how it was found: "none", "data", "semi", "propagation"
  Mesh mesh;
  std::vector<std::vector<Axes>> inputs;             // per input and then per state of the graph: axes per dimension
  std::vector<Cut> cuts;                             // per node: axes per factor
  std::map<ValueId, std::vector<Axes>> results;      // values with another sharding than their nodes produce
  std::map<std::string, std::vector<Axes>> outputs;  // outputs with another sharding than their values
  /// Indices of states that forward and backward each gather anew, so that the whole state needs memory only while it
  /// is used.
  std::set<size_t> regathered;
};

/// Returns the entry values of inputs, then of states, as Plan::inputs lists them.
std::vector<ValueId> entry_values(const Graph& graph);

/// Text of a plan: "partita plan 1 ...", with the names of factors, such as "node conv2d n=data". `graph` gives the
/// names. Nodes, inputs and states that are not cut have no line.
std::string print(const Plan& plan, const Graph& graph, const OpSet& ops);
/// Checks that the plan has an entry for each node, input and state of the graph, that its cuts and shardings are
/// legal, and that its micro-batches are (`verify_micro_batches`). Throws InvalidArgument, with the node, what was
/// asked and what is legal, otherwise, and for an output that the graph lacks.
void verify(const Plan& plan, const Graph& graph, const OpSet& ops);

}  // namespace partita
