#pragma once
// A lower bound on the cost of a reshard.

#include "ir/sharding/axis_runs.h"

namespace partita {

constexpr double kCostTolerance = 1e-9;  // relative; costs are sums of fractions

/// Returns the lowest cost per byte of the mesh's links; 0 for a mesh of one rank.
double cheapest_byte(const LinkCosts& costs);

/// Returns a lower bound on the cost of any path from `now` to `ends.to` by moves over `runs`: the cost of the bytes
/// that some rank must still receive. Where two cuts of a dimension diverge, some rank holds nothing of what it needs.
double min_cost(const ReshardEnds& ends, const std::vector<Axes>& runs, const Sharding& now);

}  // namespace partita
