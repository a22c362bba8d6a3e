#pragma once
// The environment of a process: how many processes a launcher started, and how many cores there are.

#include <limits>

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"
#include "runtime/launch/launched.h"

namespace partita {

struct Place {
  std::optional<LaunchedRank> launched;  // none: the process was started alone
  int cores = 1;
  int team_threads = std::numeric_limits<int>::max();  // max. number of threads that OpenMP may start for one rank

  int ranks() const { return launched ? launched->size : 1; }
  /// Number of the launched ranks that are on this host; 1 if the process was started alone.
  int ranks_here() const { return launched ? launched->local_size : 1; }
  int rank() const { return launched ? launched->rank : 0; }
  bool is_first() const { return rank() == 0; }
};

/// Returns the rank that a launcher gave this process, the number of cores and the thread limit of OpenMP. Throws
/// InvalidArgument if the variables of a launcher are invalid or inconsistent, MissingFile or InvalidFile for its rank
/// table.
Place this_place();

/// Opens the records of calls for `ranks` ranks that are threads of this process, in the folder that
/// PARTITA_FLIGHT_RECORD names. Their elements are null if it is not set or "". Empty if this process is one of
/// several, which have their own. Throws RuntimeFailure(cannot_write) if one cannot be written, InvalidArgument if the
/// variables of a launcher are invalid or inconsistent, MissingFile or InvalidFile for its rank table.
FlightRecords open_flight_records(int ranks);

/// Returns the world of all processes that the launcher started. It is made at the first call and ends with the
/// process, unless the process ends with an error: the launcher then ends the others. Throws RuntimeFailure if the
/// ranks do not find one another, the record of calls or a new secret cannot be written (cannot_write), or memory,
/// threads, open files or random bytes are lacking. Throws InvalidArgument for an invalid address or timeout, for a
/// secret that is too short or not private to this user, without MPI where it is needed, and if MPI and the launcher
/// disagree on the rank or the size; MissingFile if the file of the secret cannot be opened.
Communicator& process_world(const LaunchedRank& launched);

}  // namespace partita
