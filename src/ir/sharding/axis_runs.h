#pragma once
// The axes that a search from one sharding to another moves as one.

#include "ir/sharding/move.h"

namespace partita {

/// What is to be resharded, and what its messages cost; all of it outlives the search.
struct ReshardEnds {
  const Type& type;
  const Sharding &from, &to;
  const Mesh& mesh;
  const LinkCosts& costs;
};

/// Axes that stand side by side in both shardings in one run; those that neither side uses are in none.
std::vector<Axes> merged_runs(const ReshardEnds& ends);

/// Each axis is a run of its own. Where messages are free and a sum is open, axes that neither side uses are in none
/// here either: slicing by them, reducing and gathering again would save bytes at the price of any number of messages.
std::vector<Axes> single_runs(const ReshardEnds& ends);

/// The run that begins at position `at` of a dimension, or none when `at` is inside of one.
const Axes* run_at(const std::vector<Axes>& runs, const Axes& axes, size_t at);

/// Neither cuts a dimension by the axis nor is partial over it.
bool is_unused(const Sharding& sharding, int axis);

}  // namespace partita
