#pragma once
// Limit on how long compute threads spin while they wait for one another.

namespace partita {

/// Limits the spinning of compute threads for the commands train, eval and generate: an idle thread spins for some ten
/// microseconds, then sleeps. The OpenMP library reads the limit when it is loaded, so the program restarts itself once
/// with the limit in the environment; if it cannot be restarted, it goes on without the limit. It must be called first
/// of all, since earlier reads and signals would be lost. Does nothing for other commands, on one core, and if
/// OMP_WAIT_POLICY or GOMP_SPINCOUNT is set. `words`: the arguments of the program, followed by nullptr.
void bound_spinning(char** words);

}  // namespace partita
