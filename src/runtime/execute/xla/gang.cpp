#include "runtime/execute/xla/gang.h"

#include <unistd.h>

#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>

namespace partita {
namespace {

/// Finds a table by a random number, which ranks of other processes do not find. Tables leave it when all ranks met.
template <class Table>
class Meeting {
 public:
  int64_t announce(const std::shared_ptr<Table>& table) {
    std::random_device random;
    const std::lock_guard lock(mutex_);
    for (;;) {
      const int64_t number = static_cast<int64_t>(random()) << 31 | random() >> 1;
      if (tables_.emplace(number, table).second) return number;
    }
  }
  std::shared_ptr<Table> find(int64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = tables_.find(number);
    return found == tables_.end() ? nullptr : found->second.lock();
  }
  void forget(int64_t number) {
    const std::lock_guard lock(mutex_);
    tables_.erase(number);
  }

 private:
  std::mutex mutex_;
  std::map<int64_t, std::weak_ptr<Table>> tables_;
};

/// Returns the ids of the ranks' devices. A collective call.
std::vector<int64_t> device_ids(Communicator& ranks, const Accelerator& accelerator) {
  const int64_t own = accelerator.client().id(accelerator.device());
  std::vector<int64_t> ids(static_cast<size_t>(ranks.size()));
  ranks.all_gather(&own, ids.data(), std::vector<int64_t>(ids.size(), 1), DType::i64);
  return ids;
}

}  // namespace

void require_own_devices(Communicator& world, const Accelerator& accelerator) {
  const std::vector<int64_t> ids = device_ids(world, accelerator);
  const int64_t own = ::getpid();
  std::vector<int64_t> processes(ids.size());
  world.all_gather(&own, processes.data(), std::vector<int64_t>(ids.size(), 1), DType::i64);
  std::set<std::pair<int64_t, int64_t>> used;  // process and device
  for (size_t rank = 0; rank < ids.size(); ++rank) used.emplace(processes[rank], ids[rank]);
  if (used.size() == ids.size()) return;
  const auto count = static_cast<int64_t>(accelerator.client().devices());
  throw InvalidArgument(fmt::format(
      "[collectives] ranks that share a device, got {} ranks on {} of {} device{}, expected a device for each and no "
      "index in --device, or --collectives cut",
      ids.size(), used.size(), count, count == 1 ? "" : "s"));
}

/// Arguments that the ranks hand to the first one, and the results that it hands back. A barrier lies between each
/// write and its reads.
struct Gang::Table {
  std::vector<std::vector<const pjrt::Buffer*>> arguments;  // by rank
  std::vector<std::optional<pjrt::Results>> results;        // by rank
  std::exception_ptr error;
  std::mutex start;         // held while a program is started
  bool has_failed = false;  // guarded by `start`: some rank has left, and with it its arguments
};

std::shared_ptr<Gang::Table> Gang::meet() const {
  static Meeting<Table> meeting;
  std::shared_ptr<Table> table;
  int64_t number = 0;
  if (ranks_.rank() == 0) {
    table = std::make_shared<Table>();
    table->arguments.resize(static_cast<size_t>(ranks_.size()));
    table->results.resize(static_cast<size_t>(ranks_.size()));
    number = meeting.announce(table);
  }
  ranks_.broadcast(&number, 1, DType::i64, 0);
  if (table == nullptr) table = meeting.find(number);
  int64_t found = table != nullptr ? 1 : 0;
  ranks_.all_reduce(&found, 1, DType::i64, Reduce::min);
  if (ranks_.rank() == 0) meeting.forget(number);
  if (found == 0) {
    throw InvalidArgument(
        "[collectives] collectives in programs of several processes, got ranks that are not in one process, expected "
        "ranks that are threads (--ranks), or --collectives cut");
  }
  return table;
}

Gang::Gang(Communicator& ranks, const Accelerator& accelerator)
    : ranks_(ranks), accelerator_(accelerator), table_(meet()), devices_(device_ids(ranks, accelerator)) {}

/// Waits for all ranks. A rank that leaves by an exception first waits until no program takes its arguments.
void Gang::meet_again() {
  try {
    ranks_.barrier();
  } catch (...) {
    const std::lock_guard lock(table_->start);
    table_->has_failed = true;
    throw;
  }
}

pjrt::Results Gang::run(const pjrt::Executable& program, std::vector<const pjrt::Buffer*> arguments) {
  const auto rank = static_cast<size_t>(ranks_.rank());
  table_->arguments[rank] = std::move(arguments);
  meet_again();
  if (rank == 0) start(program);
  meet_again();
  if (table_->error != nullptr) std::rethrow_exception(table_->error);
  PARTITA_CHECK(table_->results[rank].has_value(), "no results of rank {}", rank);
  pjrt::Results own = std::move(*table_->results[rank]);
  table_->results[rank].reset();
  return own;
}

/// Starts the program for all ranks, unless one has left: then the next meeting fails.
void Gang::start(const pjrt::Executable& program) {
  const std::lock_guard lock(table_->start);
  table_->error = nullptr;
  if (table_->has_failed) return;
  try {
    std::vector<pjrt::Results> all = program.run_all(table_->arguments, accelerator_.next_run());
    for (size_t r = 0; r < all.size(); ++r) table_->results[r].emplace(std::move(all[r]));
  } catch (const Error&) {
    table_->error = std::current_exception();
  }
}

}  // namespace partita
