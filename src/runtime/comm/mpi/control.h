#pragma once
// Connections beside those of MPI, by which processes see that one has ended or is silent, and tell one another that
// the world has failed: MPI itself waits for such a process, or ends all of them without a word.

#include <memory>

#include "runtime/comm/sockets/connections.h"

namespace partita {

/// Collective over all processes. None when one of them does not know an address at which those of other hosts reach
/// it: the one from which it reaches the launcher, as that has put it into the environment. Throws RuntimeFailure.
std::shared_ptr<Connections> make_control_connections(uint64_t host_key, std::shared_ptr<WorldState> state);

}  // namespace partita
