#pragma once
// Runs one rank in this process.

#include <functional>

#include "comm/communicator.h"

namespace partita {

/// Calls `fn`; when it throws, aborts the world with "rank R: ..." and the exit code of the error, so that no other
/// process waits for this one. Does not return then.
void run_process(Communicator& world, const std::function<void(Communicator&)>& fn);

}  // namespace partita
