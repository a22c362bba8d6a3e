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
  /// Called by the destructor of the world's communicator, unless an exception ends this rank or the world has failed:
  /// after the last call of this rank, and of all ranks if they do not share memory. May be null.
  std::function<void()> finalize{};
  /// Called by the destructor of the world's communicator, where an exception would be lost, with the error of taking
  /// leave of the other ranks or of `finalize`, if one failed. May end the process. May be null.
  std::function<void(ExitCode code, const std::string& message)> on_failed_end{};
};

/// Makes the communicator of the world; one per process and world. A collective call over its ranks. Throws
/// RuntimeFailure if the world or the carrier fails, or a rank does not answer within five minutes (peer_stalled).
std::unique_ptr<Communicator> make_process_communicator(ProcessWorld world);

}  // namespace partita
