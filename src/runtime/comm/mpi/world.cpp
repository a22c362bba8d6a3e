// A world of processes whose messages MPI carries.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/error.h"
#include "base/resources.h"
#include "runtime/comm/mpi/carrier.h"
#include "runtime/comm/mpi/control.h"
#include "runtime/comm/mpi/mpi.h"
#include "runtime/comm/processes/communicator.h"
#include "runtime/comm/processes/host.h"

namespace partita {
namespace {

/// Ends the process with `code`. If its peers do not know yet, MPI ends all processes. Prints `message` first, unless
/// another message from some rank is the reason in `state`.
void end_process(const WorldState& state, bool peers_know, const std::string& message, ExitCode code) {
  const WorldFailure why = state.failure();
  std::cout.flush();
  if (!why.is_whole || why.text == message) {
    std::cerr << "partita: error: " << message << "\n" << std::flush;
  }
  if (!peers_know) mpi().abort(mpi().comm_world, static_cast<int>(code));
  ::_exit(static_cast<int>(code));
}

}  // namespace

std::unique_ptr<Communicator> make_mpi_world(int ranks_here, std::shared_ptr<FlightRecord> record,
                                             std::function<void(ExitCode, const std::string&)> on_failed_end) {
  mpi();  // first, so that a missing library is reported before other errors
  // Checks for memory: without enough for its buffers and threads, MPI ends the process or waits forever.
  constexpr size_t kOwn = size_t{256} << 20, kPerRank = size_t{8} << 20;
  constexpr int kThreads = 4, kMaxThreads = 32;
  const auto here = static_cast<size_t>(ranks_here);
  { const Reservation room("MPI", kOwn + here * kPerRank); }
  // A user's limits apply to all ranks here together, which start at about the same time.
  { const WaitingThreads proof(std::min(kThreads * static_cast<int>(here), kMaxThreads), "MPI"); }
  int given = 0;
  // MPI_THREAD_MULTIPLE: the communication thread calls MPI too.
  const int status = mpi().init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &given);
  if (status != MPI_SUCCESS || given < MPI_THREAD_MULTIPLE) {
    throw RuntimeFailure(ExitCode::peer_lost,
                         fmt::format("[mpi] cannot start, got status {} and thread level {}, expected 0 and {}", status,
                                     given, MPI_THREAD_MULTIPLE));
  }
  int size = 1;
  mpi().comm_size(mpi().comm_world, &size);
  auto state = std::make_shared<WorldState>(size);
  const uint64_t key = host_key();
  const auto control = make_control_connections(key, state);
  const auto broadcast_failure = [state, control](const std::string& message, ExitCode code) {
    if (control) control->broadcast_failure();
    end_process(*state, control != nullptr, message, code);
  };
  const auto finalize = [control] {
    if (control) control->leave();
    mpi().finalize();
  };
  return make_process_communicator({.carrier = std::make_unique<MpiCarrier>(mpi().comm_world, state),
                                    .state = state,
                                    .record = std::move(record),
                                    .host_key = key,
                                    .broadcast_failure = broadcast_failure,
                                    .finalize = finalize,
                                    .on_failed_end = std::move(on_failed_end)});
}

}  // namespace partita
