#pragma once
// Runs: axes that a reshard search moves as one.

#include "ir/sharding/move.h"

namespace partita {

/// A value to reshard, its two shardings, and the costs of messages. Everything referenced must outlive the search.
struct ReshardEnds {
  const Type& type;
  const Sharding &from, &to;
  const Mesh& mesh;
  const LinkCosts& costs;
};

/// Returns the axes that either sharding uses, joined into runs: axes that follow one another in one sharding and in
/// the other do so too, are unused or are partial, and axes that are partial in `ends.from` and unused in `ends.to`.
std::vector<Axes> merged_runs(const ReshardEnds& ends);

/// Returns each axis of the mesh as a separate run. Leaves out axes that neither sharding uses if messages cost nothing
/// and the two are partial over different axes: slicing by them, reducing and gathering would save bytes at the price
/// of any number of messages.
std::vector<Axes> single_runs(const ReshardEnds& ends);

/// Returns the run whose first axis is axes[at], where `axes` cut one dimension. Returns null if that axis is inside a
/// run or in none.
const Axes* run_at(const std::vector<Axes>& runs, const Axes& axes, size_t at);

/// Whether the value is neither cut by the axis nor partial over it.
bool is_unused(const Sharding& sharding, int axis);

}  // namespace partita
