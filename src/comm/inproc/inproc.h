#pragma once
// Ranks as threads of one process.

#include "comm/communicator.h"

namespace partita {

/// The communicators of a world of `size` ranks, one per rank thread.
std::vector<std::unique_ptr<Communicator>> make_inproc_world(int size);

}  // namespace partita
