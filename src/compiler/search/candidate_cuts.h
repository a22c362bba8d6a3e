#pragma once
// Cuts of a node that propagation compares.

#include <set>

#include "ir/sharding/propagate.h"

namespace partita {

/// Returns legal cuts: no cut, and the cuts that the neighbours suggest, together and one by one. Each is returned as
/// it is and with the axes that it leaves free: up to three of them each on any factor or on none, more only together
/// on one factor. Axes that could extend a cut to more than 256 cuts are tried only together. Windows are not cut.
/// `expandable`: whether the op has an expansion.
std::set<Cut> candidate_cuts(const ShardingRule& rule, const std::vector<Suggestion>& neighbours, const Mesh& mesh,
                             bool expandable);

}  // namespace partita
