#pragma once
// A cut value as a whole on every rank.

#include "runtime/execute/groups.h"

namespace partita {

/// The whole of a value from one rank for each of its parts, of which this rank has `own`; collective over the world.
Array gather_value(const LocalGraph& local, ValueId value, Array& own, Groups& groups, int64_t rank);

}  // namespace partita
