#pragma once
// Ranks as processes under MPI.

#include <functional>

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"

namespace partita {

/// Whether the program was built with MPI.
bool has_mpi();

/// Whether the library of MPI can be loaded, which it tries; false if the program was built without MPI. The library
/// stays loaded only if mpirun or srun started this process.
bool finds_mpi();

/// Makes the world of this process, which ends with the object; one at a time. `ranks_here` is the number of processes
/// on this host, according to the launcher. `on_failed_end` is explained in runtime/comm/processes/communicator.h.
/// Throws RuntimeFailure if MPI does not start or has too little memory or too few threads, and as
/// make_control_connections and make_process_communicator do; InvalidArgument if the program was built without MPI or
/// its library cannot be loaded.
std::unique_ptr<Communicator> make_mpi_world(int ranks_here, std::shared_ptr<FlightRecord> record = nullptr,
                                             std::function<void(ExitCode, const std::string&)> on_failed_end = nullptr);

}  // namespace partita
