#pragma once
// Ranks as processes under MPI.

#include <functional>

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"

namespace partita {

/// Whether the program was built with MPI.
bool has_mpi();

/// Whether the library of MPI can be loaded: loads it and closes it again. False if the program was built without MPI.
bool finds_mpi();

/// Makes the world of this process, which ends with the object; one at a time. `ranks_here` is the number of processes
/// on this host, according to the launcher. `on_failed_end`, if any, is called by the object's destructor, where an
/// exception would be lost, with the error if taking leave of the other ranks fails. Throws RuntimeFailure if MPI does
/// not start (peer_lost) or has too little memory or too few threads (out_of_memory), and if the processes do not
/// connect or one does not answer or is lost. Throws InvalidArgument if the program was built without MPI, its library
/// cannot be loaded, or a timeout in the environment is no time.
std::unique_ptr<Communicator> make_mpi_world(int ranks_here, std::shared_ptr<FlightRecord> record = nullptr,
                                             std::function<void(ExitCode, const std::string&)> on_failed_end = nullptr);

}  // namespace partita
