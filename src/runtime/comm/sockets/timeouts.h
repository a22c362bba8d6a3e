#pragma once
// How long ranks wait for a rank that does not arrive, or is silent.

#include "runtime/comm/communicator.h"

namespace partita {

/// Return the values of PARTITA_START_TIMEOUT and PARTITA_STALL_TIMEOUT in the environment, in seconds; 300 and 30 if
/// they are not set. Throw InvalidArgument unless the value is a number from 0.5 to 1000000.
Timeout start_timeout();
Timeout stall_timeout();

}  // namespace partita
