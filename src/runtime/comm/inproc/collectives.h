#pragma once
// The data movement of the collectives. The calls of all ranks are known and fit together; each
// function does the part of one rank, and the parts may run in any order or at once.

#include <span>

#include "runtime/comm/call.h"

namespace partita {

/// Threads in one process; more would not fit any machine.
inline constexpr int kMaxThreadRanks = 256;

using Calls = std::span<const Call* const>;

/// Does the part of `rank` in the call that `calls` make together.
void move_data(Calls calls, int rank);

/// Bytes that all parts read, the measure of whether it pays to share the work.
int64_t bytes_moved(Calls calls);

}  // namespace partita
