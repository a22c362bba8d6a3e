#pragma once
// How long compute threads spin while they wait for one another.

namespace partita {

/// Bounds the spinning of compute threads for a command that has some: a thread that finds no work spins for some ten
/// microseconds, then sleeps. The OpenMP library reads how to wait when it is loaded, so the program is started anew,
/// once, with the number of spins in the environment. Called first of all: what was read before, or signals that came,
/// would be lost. Does nothing for other commands, on one core, and where OMP_WAIT_POLICY or GOMP_SPINCOUNT is set.
/// `words`: the arguments of the program, ended by nullptr.
void bound_spinning(char** words);

}  // namespace partita
