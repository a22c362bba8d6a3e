#pragma once
// The states of a graph by name: initialized from a seed or loaded from a file; and which of them are weights.

#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/box_runs.h"

namespace partita {

using States = std::map<std::string, Array>;

/// A graph with only the states of `graph`, which nothing writes.
Graph states_of(const Graph& graph);

/// Whether --save and --load include states of this kind: parameters and statistics.
bool is_weight(StateKind kind);

/// Adds the initial values of those states of `graph` that are missing in `states`. They depend on the seed and the
/// state's name. Averages begin as copies of their parameters.
void add_initial_states(States& states, const Graph& graph, uint64_t seed);

/// Writes the initial values of one state inside `box` to `to`, dense, in `dtype`. `name` is a state of `graph`.
void fill_initial(const Graph& graph, uint64_t seed, const std::string& name, const Box& box, DType dtype, void* to);

/// Requires that every value in `states` has the type that `graph` gives it. Missing states are ignored. Throws
/// InvalidArgument otherwise.
void require_types(const States& states, const Graph& graph);

/// Returns `given`, tensor `name` of the file `path`, converted to the element type of `type`. Throws InvalidFile for
/// another shape, and if only one of the two is a float.
Array fitted(const Array& given, const Type& type, const std::string& name, const std::string& path);

/// Overwrites the parameters and statistics of `graph` in `states` by `weights`, and averages by those of their
/// parameters. Float types are converted. Leaves additions to products (LoRA) that `weights` lacks as they are. Skips
/// the batch counters that PyTorch keeps next to running statistics, and what a checkpoint holds besides weights.
/// Throws InvalidFile, naming `path`, for a missing or unknown tensor, another shape, or a float in place of another
/// type or the reverse; `states` are unchanged then.
void take_weights(States& states, const Graph& graph, const std::map<std::string, Array>& weights,
                  const std::string& path);

/// Checks that all elements of a state are finite, or those of a part; `box` is then the part's box as text, for the
/// message. Throws RuntimeFailure(non_finite) otherwise.
void check_finite(const std::string& name, const Array& values, const std::string& box = "");
/// Checks the states of these names in order. Throws RuntimeFailure(non_finite), naming the first with an element that
/// is NaN or infinite.
void check_finite(const States& states, const std::vector<std::string>& names);

/// Names of the parameters and statistics, in the order of the graph.
std::vector<std::string> weight_names(const Graph& graph);

}  // namespace partita
