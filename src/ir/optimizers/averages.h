#pragma once
// Exponential moving averages of parameters, as states of a training.

#include "ir/graph/graph.h"

namespace partita {

/// Returns the name of the state that averages a parameter: "fc.weight.ema".
inline std::string average_of(std::string_view parameter) { return std::string(parameter) + ".ema"; }

/// Whether a state is the average of its owner. It begins as a copy of it.
inline bool is_average(const Graph& graph, const State& state) {
  return state.kind == StateKind::optimizer && !state.owner.empty() && graph.name_of(state) == average_of(state.owner);
}

}  // namespace partita
