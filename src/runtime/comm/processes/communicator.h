#pragma once
// Ranks as processes: those of one host communicate through shared memory, others by messages of a carrier.

#include <functional>
#include <memory>
#include <vector>

#include "runtime/comm/carrier.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/flight_record.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// What a world of processes is made of.
struct ProcessWorld {
  std::unique_ptr<Carrier> carrier;
  std::shared_ptr<WorldState> state;
  std::shared_ptr<FlightRecord> record{};  // none: calls are not written down
  uint64_t host_key = 0;
  /// Tells all other processes that the world has failed, as `state` says; `message` is what this one has to say of it.
  /// Never blocks for long; may end the process.
  std::function<void(const std::string& message, ExitCode code)> broadcast_failure{};
  /// At the end, when all ranks have made their last call.
  std::function<void()> finalize{};
  /// Called when the last call of all ranks failed, where an exception would be lost; may end the process.
  std::function<void(ExitCode code, const std::string& message)> on_failed_end{};
};

/// The communicator of the world; one per process and world. Collective; throws RuntimeFailure.
std::unique_ptr<Communicator> make_process_communicator(ProcessWorld world);

}  // namespace partita
