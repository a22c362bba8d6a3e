#pragma once
// Gathers a sharded value as a whole on every rank.

#include "runtime/execute/groups.h"

namespace partita {

/// Returns the whole value, on every rank, put together from the parts of all ranks. `own` is this rank's part, dense
/// and not changed; `rank` is this rank in the mesh. A collective call over the ranks of the mesh. Adds the
/// communicator that it uses to `groups`. Throws RankFailures.
Array gather_value(const LocalGraph& local, ValueId value, Array& own, Groups& groups, int64_t rank);

}  // namespace partita
