#pragma once
// How long compute threads spin while they wait for one another.

namespace partita {

/// Bounds the spinning of a team of `threads` threads: a thread that finds no work spins for some ten microseconds,
/// then sleeps. The OpenMP library reads how to wait when it is loaded, so the program is started anew, once, with the
/// number of spins in the environment. Does nothing for one thread, and where OMP_WAIT_POLICY or GOMP_SPINCOUNT is set.
/// Throws RuntimeFailure(internal) if the program cannot be started anew.
void bound_spinning(int threads);

}  // namespace partita
