#pragma once
// The states of a graph by name: filled from a seed or a file, and what of them a weights file holds.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/box_runs.h"

namespace partita {

using States = std::map<std::string, Array>;

/// The graph without inputs, nodes and outputs: its states, which are not written.
Graph states_of(const Graph& graph);

/// Whether --save and --load take it.
bool is_weight(StateKind kind);

/// Adds those states of `graph` that are not there, keyed by the seed and their name.
void add_initial_states(States& states, const Graph& graph, uint64_t seed);

/// Of the state with this name: the elements of a box, dense, as they begin.
void fill_initial(const Graph& graph, uint64_t seed, const std::string& name, const Box& box, DType dtype, void* to);

/// Throws InvalidArgument for a state of `graph` whose value is of another type.
void require_types(const States& states, const Graph& graph);

/// The tensor `name` of the file `path` in the element type of the state. Throws InvalidFile for another shape, and for
/// integers in place of floats.
Array fitted(const Array& given, const Type& type, const std::string& name, const std::string& path);

/// Overwrites parameters and statistics of `states`. Float types are converted. Throws InvalidFile,
/// naming `path`, for a missing or unknown tensor or another shape. The batch counters that PyTorch keeps
/// next to running statistics are of no use here and are skipped, and so is what a checkpoint holds besides
/// weights. `states` stay as they are when it throws.
void take_weights(States& states, const Graph& graph, const std::map<std::string, Array>& weights,
                  const std::string& path);

/// Throws RuntimeFailure(non_finite) when an element of a state, or of a box of it, is NaN or infinite.
void check_finite(const std::string& name, const Array& values, const std::string& box = "");
/// Throws RuntimeFailure(non_finite) that names the first of `names` with an element that is NaN or infinite.
void check_finite(const States& states, const std::vector<std::string>& names);

/// The names of parameters and statistics, in the order of the graph.
std::vector<std::string> weight_names(const Graph& graph);

}  // namespace partita
