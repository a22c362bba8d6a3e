#pragma once
// Connections next to those of MPI. With them processes detect that one has ended or is silent, and tell one another
// that the world has failed. MPI itself waits for such a process, or ends all processes without a message.

#include <memory>

#include "runtime/comm/sockets/connections.h"

namespace partita {

/// Makes the connections of this process to all others. A collective call over all processes. Returns null, on all
/// processes, if they are not possible: one process, more than 256, or, on several hosts, a process that does not know
/// an address at which other hosts reach it (the one from which it reaches the launcher, according to the environment).
/// Throws RuntimeFailure if MPI fails, a process cannot listen, does not arrive or is lost, or the system has no file
/// descriptors, threads or random bytes; InvalidArgument for a start or stall timeout in the environment that is no
/// time.
std::shared_ptr<Connections> make_control_connections(uint64_t host_key, std::shared_ptr<WorldState> state);

}  // namespace partita
