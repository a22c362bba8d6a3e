#include "runtime/launch/place.h"

#include <omp.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <thread>

#include "base/error.h"
#include "base/usable_cores.h"
#include "runtime/comm/mpi/mpi.h"
#include "runtime/comm/processes/host.h"
#include "runtime/comm/sockets/addresses.h"
#include "runtime/comm/sockets/socket.h"
#include "runtime/comm/sockets/sockets.h"
#include "runtime/comm/sockets/timeouts.h"
#include "runtime/launch/secret.h"
#include "runtime/launch/signals.h"

namespace partita {

Place this_place() {
  const UsableCores cores = usable_cores();
  return {.launched = launched_rank([](const char* name) { return std::getenv(name); }),
          .cores = cores.shared(),
          .own_cores = cores.own(),
          .team_threads = omp_get_thread_limit()};
}

namespace {

const char* environment(const char* name) { return std::getenv(name); }

/// Opens the record of calls of a rank, in the folder that PARTITA_FLIGHT_RECORD names; null if it is not set or "".
/// Throws RuntimeFailure(cannot_write) if the record cannot be written.
std::shared_ptr<FlightRecord> open_flight_record(int rank, int size) {
  const char* folder = environment("PARTITA_FLIGHT_RECORD");
  if (folder == nullptr || *folder == 0) return nullptr;
  return FlightRecord::create(fmt::format("{}/rank_{}/flight_record", folder, rank), rank, size, host_name());
}

/// Prints `message` as an error of this rank and ends the process with `code`, without destructors. It is called when
/// the world ends, in a destructor, where no exception can be caught. A rank other than 0 waits 0.8 seconds first,
/// unless a rank is lost or stalls.
[[noreturn]] void end_process(const LaunchedRank& launched, ExitCode code, const std::string& message) {
  constexpr std::chrono::milliseconds kPatience{800};  // leaves it to rank 0 to report an error of all ranks
  const bool misses = code == ExitCode::peer_lost || code == ExitCode::peer_stalled;
  if (launched.rank != 0 && !misses) std::this_thread::sleep_for(kPatience);
  std::cout.flush();
  std::cerr << fmt::format("partita: error: rank {}: {}", launched.rank, message) << std::endl;
  ::_exit(static_cast<int>(code));
}

/// Returns the address at which rank 0 listens, that of `launched.meeting`. If ranks are on several hosts and this host
/// knows the host name in it only by loopback addresses, as it does its own name, the name is replaced by an address of
/// this host for others, if there is one: all ranks here then use what other hosts get for the name. `localhost` and
/// the address of an open listener stay. Throws InvalidArgument if the given address has no host or port.
std::string reachable_master(const LaunchedRank& launched) {
  const std::string& given = launched.meeting->master;
  if (launched.meeting->listener >= 0 || launched.local_size == launched.size) return given;
  Endpoint master = parse_endpoint("rendezvous", given);
  if (is_number(master.host) || master.host == "localhost" || !is_loopback(master.host)) return given;
  const std::string address = outward_address({});
  if (!address.empty()) master.host = address;
  return print(master);
}

std::unique_ptr<Communicator> make_world(const LaunchedRank& launched) {
  const auto on_failed_end = [launched](ExitCode code, const std::string& message) {
    end_process(launched, code, message);
  };
  const std::shared_ptr<FlightRecord> record = open_flight_record(launched.rank, launched.size);
  if (!launched.meeting) return make_mpi_world(launched.local_size, record, on_failed_end);
  return make_socket_world({.rank = launched.rank,
                            .size = launched.size,
                            .master = reachable_master(launched),
                            .listener = launched.meeting->listener,
                            .address = launched.meeting->address,
                            .secret = job_secret(environment),
                            .run = launched.meeting->run,
                            .start_timeout = start_timeout(),
                            .stall_timeout = stall_timeout(),
                            .stop_signal = [] { return SignalGuard::requests().stop; },
                            .record = record,
                            .on_failed_end = on_failed_end});
}

}  // namespace

FlightRecords open_flight_records(int ranks) {
  const auto launched = launched_rank(environment);
  if (launched && launched->size > 1) return {};  // the folder has a record per process
  FlightRecords records;
  for (int rank = 0; rank < ranks; ++rank) records.push_back(open_flight_record(rank, ranks));
  return records;
}

Communicator& process_world(const LaunchedRank& launched) {
  // MPI starts and ends once in a process (docs/decisions/002).
  static Communicator* const world = [&] {
    Communicator* made = make_world(launched).release();
    ::on_exit(
        [](int status, void* communicator) {
          if (status == 0) delete static_cast<Communicator*>(communicator);
        },
        made);
    return made;
  }();
  if (world->size() == launched.size && world->rank() == launched.rank) return *world;
  throw InvalidArgument(
      "[launch] {} and MPI disagree, got rank {} of {} from MPI, expected {} of {}: is it the MPI that the program was "
      "built with (srun --mpi=pmix)?",
      launched.launcher, world->rank(), world->size(), launched.rank, launched.size);
}

}  // namespace partita
