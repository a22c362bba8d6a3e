#pragma once
// The environment of a process: how many processes a launcher started, and how many cores they may use.

#include <algorithm>
#include <limits>

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"
#include "runtime/launch/launched.h"

namespace partita {

struct Place {
  std::optional<LaunchedRank> launched;  // none: the process was started alone
  int cores = 1;                         // cores that the ranks of this host may use together
  /// Cores that this process may use; fewer than `cores` if the launcher binds each rank to some of them.
  int own_cores = std::numeric_limits<int>::max();
  int team_threads = std::numeric_limits<int>::max();  // max. number of threads that OpenMP may start for one rank

  int ranks() const { return launched ? launched->size : 1; }
  /// Number of the launched ranks that are on this host; 1 if the process was started alone.
  int ranks_here() const { return launched ? launched->local_size : 1; }
  int rank() const { return launched ? launched->rank : 0; }
  bool is_first() const { return rank() == 0; }
  /// Number of cores that this process may use.
  int process_cores() const { return std::min(cores, own_cores); }
  /// Number of cores that the ranks of this host share, which are processes or threads of this one.
  int shared_cores() const { return ranks() > 1 ? cores : process_cores(); }
  /// The same process, as if no launcher had started it.
  Place alone() const { return {.cores = process_cores(), .team_threads = team_threads}; }
};

/// Returns the rank that a launcher gave this process, the cores it may use and the thread limit of OpenMP. Throws
/// LauncherErrors.
Place this_place();

/// Opens the records of calls for `ranks` ranks that are threads of this process, in the folder that
/// PARTITA_FLIGHT_RECORD names. Their elements are null if it is not set or "". Empty if this process is one of
/// several, which have their own. Throws RuntimeFailure(cannot_write) if one cannot be written, and LauncherErrors.
FlightRecords open_flight_records(int ranks);

/// Returns the world of all processes that the launcher started. It is made at the first call and ends with the
/// process, unless the process ends with an error: the launcher then ends the others. Throws RuntimeFailure if the
/// ranks do not find one another, the record of calls or a new secret cannot be written (cannot_write), or memory,
/// threads, open files or random bytes are lacking. Throws InvalidArgument for an invalid address or timeout, for a
/// secret that is too short or not private to this user, without MPI where it is needed, and if MPI and the launcher
/// disagree on the rank or the size; MissingFile if the file of the secret cannot be opened.
Communicator& process_world(const LaunchedRank& launched);

}  // namespace partita
