#pragma once
// Ranks as processes without MPI.

#include <functional>

#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"

namespace partita {

struct SocketWorldOptions {
  int rank = 0, size = 1;
  std::string master;        // HOST:PORT where rank 0 listens
  int listener = -1;         // of rank 0: a socket that listens there already
  std::string address = "";  // of this rank, for others; "": that from which it reaches rank 0
  std::string secret;        // of the job
  std::string run = "";      // tells runs apart that use one secret
  Timeout start_timeout{};   // for a rank that does not come
  Timeout stall_timeout{};   // for a rank that is silent
  std::string host = "";     // in place of the name of this host; ranks with another name share no memory
  /// The signal that asks this process to end while the ranks meet; 0: none.
  std::function<int()> stop_signal{};
  std::shared_ptr<FlightRecord> record{};
  std::function<void(ExitCode, const std::string&)> on_failed_end{};
};

/// The world of this rank, for as long as the object lives; several may live in one process, and one may follow
/// another. Collective over the ranks of the job. Throws InvalidArgument for an option that makes no sense,
/// RuntimeFailure when the ranks do not find one another.
std::unique_ptr<Communicator> make_socket_world(const SocketWorldOptions& options);

}  // namespace partita
