#pragma once
// Kinds of states in the metadata of a file.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ir/graph/graph.h"
#include "runtime/checkpoint/safetensors_header.h"

namespace partita {

/// Parses "parameter", "statistic", "optimizer" or "counter"; none for other words.
std::optional<StateKind> parse_state_kind(std::string_view name);

/// A state as a saved training describes it.
struct SavedState {
  std::string name;
  Type type;
  StateKind kind = StateKind::parameter;
};

/// Kinds of states, by the name of the state.
using StateKinds = std::map<std::string, StateKind>;

StateKinds kinds_of(const Graph& graph);
/// Adds the kinds of those that are not parameters to `metadata`. Adds nothing if all are parameters.
void add_kinds(Metadata& metadata, const StateKinds& kinds);
/// Removes what `add_kinds` has added from `metadata`, and returns it; none if it has not added anything, or an empty
/// text, which older programs wrote for files without kinds.
std::optional<StateKinds> take_kinds(Metadata& metadata);

}  // namespace partita
