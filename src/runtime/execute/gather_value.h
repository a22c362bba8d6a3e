#pragma once
// Gathers a sharded value as a whole on every rank.

#include "runtime/execute/groups.h"

namespace partita {

/// Returns the whole value. Each part comes from one rank that holds it; `own` is this rank's part. A collective call
/// over the ranks of the mesh, of which this one is `rank`. Adds the communicator that it uses to `groups`. Throws as
/// Communicator does.
Array gather_value(const LocalGraph& local, ValueId value, Array& own, Groups& groups, int64_t rank);

}  // namespace partita
