#pragma once
// The searches by name.

#include "base/names.h"

namespace partita {

/// How automatic parallelism finds a plan: from the annotations outwards; by dynamic programming on a cost graph; one
/// axis after another; or exactly.
enum class Search { propagation, dynamic, recursive, exact };
template <>
inline constexpr auto kNames<Search> = names("propagation", "dynamic", "recursive", "exact");

}  // namespace partita
