#pragma once
// The compute threads of a thread: its OpenMP team.

namespace partita {

/// Maximum number of threads in a team that the environment allows.
int max_team_threads();

/// Makes parallel regions of this thread run on exactly `threads` threads, and starts them. oneDNN would wait for
/// threads that it requested and did not get, and libgomp ends the process if it cannot start one. Throws
/// InvalidArgument if OMP_THREAD_LIMIT is lower or as require_team does, RuntimeFailure(out_of_memory) if the threads
/// cannot be started.
void enter_team(int threads);

/// Checks that the calling thread may run parallel regions on `threads` threads. Throws InvalidArgument for more than
/// one if it has lost its team.
void require_team(int threads);

/// Whether the calling thread forked this process, and had compute threads before. A parallel region of it would wait
/// for them forever.
bool has_lost_team();

}  // namespace partita
