#include "launch/place.h"

#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "comm/mpi/mpi.h"

namespace partita {

Place this_place() {
  return {.launched = launched_rank([](const char* name) { return std::getenv(name); }),
          .cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency())),
          .team_threads = omp_get_thread_limit()};
}

Communicator& process_world(const LaunchedRank& launched) {
  // MPI starts and ends once in a process (docs/decisions/002).
  static Communicator* const world = [&] {
    Communicator* made = make_mpi_world(launched.local_size).release();
    ::on_exit(
        [](int status, void* communicator) {
          if (status == 0) delete static_cast<Communicator*>(communicator);
        },
        made);
    return made;
  }();
  if (world->size() == launched.size && world->rank() == launched.rank) return *world;
  throw InvalidArgument(
      fmt::format("[launch] {} and MPI disagree, got rank {} of {} from MPI, expected {} of {}: is it the MPI that the "
                  "program was built with (srun --mpi=pmix)?",
                  launched.launcher, world->rank(), world->size(), launched.rank, launched.size));
}

}  // namespace partita
