#pragma once
// The data movement of the collectives. The calls of all ranks are known and fit together. Each function does the part
// of one rank; the parts may run in any order or concurrently.

#include <span>

#include "base/rank_limit.h"
#include "runtime/comm/call.h"

namespace partita {

using Calls = std::span<const Call* const>;

/// Does the part of `rank` in the collective that `calls` form, one call per rank. Throws InternalError for `leave` and
/// for point-to-point calls.
void move_data(Calls calls, int rank);

/// Returns the sum of the counts of all calls, in bytes of the first call's type.
int64_t bytes_moved(Calls calls);

}  // namespace partita
