#pragma once
// How long ranks wait for one that does not come, or is silent.

#include "runtime/comm/communicator.h"

namespace partita {

/// PARTITA_START_TIMEOUT and PARTITA_STALL_TIMEOUT of the environment, in seconds; 300 and 30 without. Throw
/// InvalidArgument for what is no time.
Timeout start_timeout();
Timeout stall_timeout();

}  // namespace partita
