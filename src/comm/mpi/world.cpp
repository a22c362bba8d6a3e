// A world of processes whose messages MPI carries.

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/error.h"
#include "base/resources.h"
#include "comm/mpi/carrier.h"
#include "comm/mpi/mpi.h"
#include "comm/processes/communicator.h"
#include "comm/processes/host.h"

namespace partita {
namespace {

void abort_by_mpi(const std::string& message, ExitCode code) {
  std::cout.flush();  // MPI ends the process as it is
  std::cerr << "partita: error: " << message << "\n" << std::flush;
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
}

}  // namespace

std::unique_ptr<Communicator> make_mpi_world(int ranks_here, std::shared_ptr<FlightRecord> record,
                                             std::function<void(ExitCode, const std::string&)> on_failed_end) {
  // MPI ends the process, or waits for ever, where its buffers and threads do not fit.
  constexpr size_t kOwn = size_t{256} << 20, kPerRank = size_t{8} << 20;
  constexpr int kThreads = 4, kMostThreads = 32;
  const auto here = static_cast<size_t>(ranks_here);
  { const Reservation room("MPI", kOwn + here * kPerRank); }
  // The limits of a user hold for all ranks here, which start at about the same time.
  { const WaitingThreads proof(std::min(kThreads * static_cast<int>(here), kMostThreads), "MPI"); }
  int given = 0;
  // The communication of gradients has a thread of its own.
  const int status = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &given);
  if (status != MPI_SUCCESS || given < MPI_THREAD_MULTIPLE) {
    throw RuntimeFailure(ExitCode::peer_lost,
                         fmt::format("[mpi] cannot start, got status {} and thread level {}, expected 0 and {}", status,
                                     given, MPI_THREAD_MULTIPLE));
  }
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  auto state = std::make_shared<WorldState>(size);
  return make_process_communicator({.carrier = std::make_unique<MpiCarrier>(MPI_COMM_WORLD, state),
                                    .state = state,
                                    .record = std::move(record),
                                    .host_key = host_key(),
                                    .broadcast_abort = abort_by_mpi,
                                    .finalize = [] { MPI_Finalize(); },
                                    .on_failed_end = std::move(on_failed_end)});
}

}  // namespace partita
