#pragma once
// The cuts of a node that a search compares.

#include <set>

#include "ir/sharding/propagate.h"

namespace partita {

/// Not cut; and what its neighbours suggest, together and one by one, each as it is and with the axes that it leaves
/// free on any of the factors. Windows are not cut. `expandable`: the op has an expansion.
std::set<Cut> candidate_cuts(const ShardingRule& rule, const std::vector<Suggestion>& neighbours, const Mesh& mesh,
                             bool expandable);

}  // namespace partita
