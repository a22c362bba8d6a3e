#pragma once
// Searches by name.

#include "base/names.h"

namespace partita {

/// How automatic parallelism finds a plan. propagation: from the annotations outwards. dynamic: dynamic programming on
/// a cost graph. recursive: one axis after another. exact: variable elimination with lower bounds.
enum class Search { propagation, dynamic, recursive, exact };
constexpr auto value_names(Search) { return names("propagation", "dynamic", "recursive", "exact"); }

}  // namespace partita
