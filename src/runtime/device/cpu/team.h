#pragma once
// The compute threads of a thread: its OpenMP team.

namespace partita {

/// The most threads of a team that the environment allows.
int most_team_threads();

/// Makes parallel regions of this thread have `threads` threads, no fewer, and starts them. oneDNN waits for threads
/// that it asked for and did not get, and libgomp ends the process when it cannot start one. Throws InvalidArgument
/// when OMP_THREAD_LIMIT is lower, RuntimeFailure(out_of_memory) when they cannot be started.
void enter_team(int threads);

}  // namespace partita
