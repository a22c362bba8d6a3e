#pragma once
// Runs any graph on one thread with the reference kernels: the oracle of every test.

#include <map>

#include "ir/graph/op_def.h"

namespace partita {

struct Interpretation {
  std::map<std::string, Array> outputs;  // by name
  std::map<std::string, Array> states;   // after the graph: the stored value, or the entry's
  std::map<std::string, Array> values;   // every value, when asked for
};

/// `given` has a value for every input and state, of exactly its type. Throws InvalidArgument when one
/// is missing or does not fit.
Interpretation interpret_all(const Graph& graph, const OpSet& ops, const std::map<std::string, Array>& given,
                             bool keep_values = false);

/// The outputs, in their order.
std::vector<Array> interpret(const Graph& graph, const OpSet& ops, const std::map<std::string, Array>& given);

}  // namespace partita
