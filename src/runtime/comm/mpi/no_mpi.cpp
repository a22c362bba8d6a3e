// Replaces world.cpp if no MPI was found when the program was built.

#include "base/error.h"
#include "runtime/comm/mpi/mpi.h"

namespace partita {

bool has_mpi() { return false; }

bool finds_mpi() { return false; }

std::unique_ptr<Communicator> make_mpi_world(int, std::shared_ptr<FlightRecord>,
                                             std::function<void(ExitCode, const std::string&)>) {
  throw InvalidArgument(
      "[mpi] the program was built without MPI, got a launch by mpirun or srun, expected a build with libopenmpi-dev "
      "installed, or --ranks N in one process");
}

}  // namespace partita
