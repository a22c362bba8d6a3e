#include "runtime/launch/run_process.h"

#include <new>
#include <thread>

#include "base/error.h"
#include "base/resources.h"
#include "runtime/comm/run_ranks.h"

namespace partita {
namespace {

/// Leaves it to rank 0 to report an error of all ranks.
constexpr std::chrono::milliseconds kPatience{800};

void leave(Communicator& world, const std::string& what, ExitCode code) {
  // Each rank reports itself which rank it misses.
  const bool misses = code == ExitCode::peer_lost || code == ExitCode::peer_stalled;
  if (world.rank() != 0 && !misses) std::this_thread::sleep_for(kPatience);
  world.abort(fmt::format("rank {}: {}", world.rank(), what), code);
}

}  // namespace

void run_process(Communicator& world, const std::function<void(Communicator&)>& fn) {
  try {
    fn(world);
  } catch (const Error& error) {
    leave(world, error.what(), error.code());
    throw;
  } catch (const std::bad_alloc&) {
    leave(world, "[memory] out of memory", ExitCode::out_of_memory);
    throw;
  } catch (const std::exception& error) {
    leave(world, error.what(), ExitCode::internal);
    throw;
  }
}

void run_on_ranks(const Place& place, int ranks, int threads, const std::function<void(Communicator&)>& fn) {
  constexpr int kHelpers = 2;  // per rank: one thread reads batches, one communicates
  if (ranks == 1) {
    run_ranks(1, fn, open_flight_records(1));
  } else if (place.ranks() > 1) {
    run_process(process_world(*place.launched), [&](Communicator& world) {
      {
        const WaitingThreads proof(kHelpers, "those that read and communicate");
        world.barrier();  // a user's limits apply to all processes together
      }
      fn(world);
    });
  } else {
    { const WaitingThreads proof(ranks * (threads + kHelpers), fmt::format("those of {} ranks", ranks)); }
    run_ranks(ranks, fn, open_flight_records(ranks));
  }
}

}  // namespace partita
