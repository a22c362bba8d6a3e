#pragma once
// Ranks as processes under MPI.

#include "comm/communicator.h"

namespace partita {

/// The world of this process, for as long as the object lives; one at a time. `ranks_here`: processes on this host, as
/// the launcher says. Throws RuntimeFailure when MPI does not start, InvalidArgument when the program was built without
/// it.
std::unique_ptr<Communicator> make_mpi_world(int ranks_here);

}  // namespace partita
