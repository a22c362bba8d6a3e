#pragma once
// Where a process finds itself: among how many that a launcher started, on how many cores.

#include <limits>

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"
#include "runtime/launch/launched.h"

namespace partita {

struct Place {
  std::optional<LaunchedRank> launched;  // none: the process was started alone
  int cores = 1;
  int team_threads = std::numeric_limits<int>::max();  // that OpenMP may start for one rank

  int ranks() const { return launched ? launched->size : 1; }
  /// Of these, on this host.
  int ranks_here() const { return launched ? launched->local_size : 1; }
  int rank() const { return launched ? launched->rank : 0; }
  bool is_first() const { return rank() == 0; }
};

/// Reads the environment. Throws InvalidArgument when a launcher left numbers there that make no sense.
Place this_place();

/// Where the last calls of ranks that are threads of this process are written down: in the folder that
/// PARTITA_FLIGHT_RECORD names; nowhere when this process is one of several that have one. Throws
/// RuntimeFailure(cannot_write).
FlightRecords open_flight_records(int ranks);

/// The world of all processes that the launcher started, made when it is first asked for and ended with the process,
/// unless that ends with an error: the launcher then ends the others. Throws as make_mpi_world does, and
/// InvalidArgument when MPI counts other ranks than the launcher.
Communicator& process_world(const LaunchedRank& launched);

}  // namespace partita
