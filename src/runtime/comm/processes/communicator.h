#pragma once
// Ranks as processes: ranks of one host communicate through shared memory, others by messages of a carrier.

#include <functional>
#include <memory>
#include <vector>

#include "runtime/comm/carrier.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// The parts of a world of processes.
struct ProcessWorld {
  std::unique_ptr<Carrier> carrier;
  std::shared_ptr<WorldState> state;
  std::shared_ptr<FlightRecord> record{};  // null: calls are not recorded
  uint64_t host_key = 0;
  /// Tells all other processes that the world has failed, as in `state`. `message` is this process's own message. Never
  /// blocks for long; may end the process.
  std::function<void(const std::string& message, ExitCode code)> broadcast_failure{};
  /// Called at the end, after the last call of this rank; if the world spans hosts, after that of all ranks. May be
  /// null.
  std::function<void()> finalize{};
  /// Called with the error if the last call or `finalize` failed, where an exception would be lost. May end the
  /// process. May be null.
  std::function<void(ExitCode code, const std::string& message)> on_failed_end{};
};

/// Makes the communicator of the world; one per process and world. A collective call over its ranks. Throws
/// RuntimeFailure if the world or the carrier fails, or a rank does not answer within five minutes (peer_stalled).
std::unique_ptr<Communicator> make_process_communicator(ProcessWorld world);

}  // namespace partita
