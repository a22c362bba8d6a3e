#pragma once
// Ranks as processes without MPI.

#include <functional>

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"

namespace partita {

struct SocketWorldOptions {
  int rank = 0, size = 1;
  std::string master;        // HOST:PORT where rank 0 listens
  int listener = -1;         // rank 0 only: a socket that already listens there
  std::string address = "";  // this rank's address for other ranks; "": the one from which it reaches rank 0
  std::string secret;        // secret of the job
  std::string run = "";      // distinguishes runs that use the same secret
  Timeout start_timeout{};   // for a rank that does not arrive
  Timeout stall_timeout{};   // for a rank that is silent
  std::string host = "";     // replaces the name of this host; ranks with different names share no memory
  /// Returns the signal that asks this process to end while the ranks meet, or 0.
  std::function<int()> stop_signal{};
  std::shared_ptr<FlightRecord> record{};
  std::function<void(ExitCode, const std::string&)> on_failed_end{};
};

/// Makes the world of this rank, which ends with the object. A process may have several, at the same time or one after
/// another. A collective call over the ranks of the job. Throws InvalidArgument for a `master` that is not HOST:PORT or
/// a `secret` of fewer than 16 characters. Throws RuntimeFailure if a rank does not arrive, is lost or is of another
/// job, if `stop_signal` returns a signal (its exit code), or the system provides too few open files or threads
/// (out_of_memory) or no random bytes (internal).
std::unique_ptr<Communicator> make_socket_world(const SocketWorldOptions& options);

}  // namespace partita
