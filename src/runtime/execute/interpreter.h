#pragma once
// Runs any graph on one thread with the reference kernels. Tests compare against it.

#include <map>

#include "ir/graph/op_def.h"

namespace partita {

struct Interpretation {
  std::map<std::string, Array> outputs;  // by name
  /// By name, after the graph: the stored value, or the given one if nothing is stored.
  std::map<std::string, Array> states;
  std::map<std::string, Array> values;  // every value by name, if `keep_values`
};

/// Runs a graph and returns its outputs and states; also every value, if `keep_values`. `given` has a value of exactly
/// the right type for every input and state. Throws InvalidArgument if one is missing or has another type, if `ops`
/// lacks an op of the graph, and for a label, an id or a slot that is out of range.
Interpretation interpret_all(const Graph& graph, const OpSet& ops, const std::map<std::string, Array>& given,
                             bool keep_values = false);

/// Runs a graph and returns its outputs in the order of `graph.outputs`. `given` is that of `interpret_all`. Throws as
/// `interpret_all` does.
std::vector<Array> interpret(const Graph& graph, const OpSet& ops, const std::map<std::string, Array>& given);

}  // namespace partita
