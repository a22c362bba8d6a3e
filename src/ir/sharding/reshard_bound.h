#pragma once
// What a reshard costs at the least.

#include "ir/sharding/axis_runs.h"

namespace partita {

constexpr double kCostTolerance = 1e-9;  // costs are sums of fractions

/// Of the links of a mesh.
double cheapest_byte(const LinkCosts& costs);

/// No way from `now` to `ends.to` by moves over `runs` costs less: what the bytes cost that some rank must still
/// receive, since it is to hold them and does not. Where two cuts of a dimension part ways, some rank holds nothing of
/// what it needs.
double least_cost(const ReshardEnds& ends, const std::vector<Axes>& runs, const Sharding& now);

}  // namespace partita
