#pragma once
// Ranks as processes under MPI.

#include <functional>

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"

namespace partita {

/// Whether the program was built with MPI.
bool has_mpi();

/// Whether the library of MPI, which is loaded when mpirun or srun started this process, is found.
bool finds_mpi();

/// The world of this process, for as long as the object lives; one at a time. `ranks_here`: processes on this host, as
/// the launcher says. Throws RuntimeFailure when MPI does not start, InvalidArgument when the program was built without
/// it.
/// `on_failed_end`: as in runtime/comm/processes/communicator.h.
std::unique_ptr<Communicator> make_mpi_world(int ranks_here, std::shared_ptr<FlightRecord> record = nullptr,
                                             std::function<void(ExitCode, const std::string&)> on_failed_end = nullptr);

}  // namespace partita
