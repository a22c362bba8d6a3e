#include "runtime/execute/xla/gang.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <set>

#include "runtime/comm/event_count.h"
#include "runtime/comm/key_values.h"
#include "runtime/execute/xla/thread_meeting.h"

namespace partita {
namespace {

constexpr std::chrono::seconds kLastWait{5};  // for a device, once the world has failed

/// The key-value store of a world, as a plugin takes it.
class SharedValues final : public pjrt::KeyValueStore {
 public:
  explicit SharedValues(Communicator& world) : values_(share_key_values(world)), check_(world.failure_check()) {}
  void put(const std::string& key, const std::string& value) override { values_->put(key, value); }
  std::optional<std::string> get(const std::string& key, std::chrono::milliseconds timeout) override {
    using namespace std::chrono_literals;
    const Deadline until = deadline_after(timeout);
    for (;;) {
      const auto rest = std::chrono::ceil<Timeout>(until - std::chrono::steady_clock::now());
      std::optional<std::string> value = values_->get(key, std::clamp<Timeout>(rest, 0ms, 250ms));
      if (value || rest <= 250ms) return value;
      check_();  // a rank that is lost sets no value
    }
  }

 private:
  const std::shared_ptr<KeyValues> values_;
  const std::function<void()> check_;
};

/// Checks that no two ranks use one device. A collective call. Throws InvalidArgument on all ranks otherwise.
void require_own_devices(Communicator& world, const Accelerator& accelerator, bool is_process) {
  const std::vector<int64_t> ids = gathered(world, accelerator.client().id(accelerator.device()));
  const std::set<int64_t> used(ids.begin(), ids.end());
  if (used.size() == ids.size()) return;
  if (is_process) {
    throw InvalidArgument(
        "[collectives] a plugin that does not join the devices of processes, got {} ids of devices on {} ranks, "
        "expected an id for each, ranks that are threads (--ranks), or --collectives cut",
        used.size(), ids.size());
  }
  const auto count = static_cast<int64_t>(accelerator.client().devices());
  throw InvalidArgument(
      "[collectives] ranks that share a device, got {} ranks on {} of {} device{}, expected a device for each and no "
      "index in --device, or --collectives cut",
      ids.size(), used.size(), count, count == 1 ? "" : "s");
}

/// The text by which a rank describes its device or plugin.
struct DeviceFacts {
  char text[248] = "";
  size_t digest = 0;  // hash of the whole text, which may be cut
};

/// Checks that the processes have devices of one kind and plugins of one version, since they run one program: what each
/// says of them has to be the same. A collective call. Throws RuntimeFailure(ranks_disagree) on all ranks otherwise.
void require_equal(Communicator& world, std::string text) {
  std::ranges::replace(text, '\n', ' ');
  DeviceFacts own{.digest = std::hash<std::string>()(text)};
  text.copy(own.text, sizeof own.text - 1);
  std::vector<DeviceFacts> all(static_cast<size_t>(world.size()));
  world.all_gather(&own, all.data(), std::vector<int64_t>(all.size(), sizeof own), DType::u8);
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].digest == all[0].digest && std::string_view(all[rank].text) == all[0].text) continue;
    throw RuntimeFailure(ExitCode::ranks_disagree,
                         "[collectives] ranks with different devices or plugins, got {} on rank {}, expected {}, which "
                         "rank 0 has, or --collectives cut",
                         all[rank].text, rank, all[0].text);
  }
}

std::string text_of(const Accelerator& accelerator) {
  const pjrt::Client& client = accelerator.client();
  return fmt::format("{}, PJRT {}, {}", client.kind(accelerator.device()), accelerator.version(),
                     client.platform_version());
}

/// Ends the process with a message. A device that waits for others inside a program can be neither asked nor stopped.
[[noreturn]] void end_process(ExitCode code, const std::string& message) {
  fmt::print(stderr, "partita: error: {}\n", message);
  std::fflush(stderr);
  ::_exit(static_cast<int>(code));
}

/// Returns what watches the waits for a device: it ends the process after `patience`, and soon after the world has
/// failed, if the wait goes on.
std::function<void(std::chrono::milliseconds)> watch_of(const std::string& device, Timeout patience,
                                                        std::function<void()> check) {
  using Clock = std::chrono::steady_clock;
  const auto failed = std::make_shared<std::atomic<Clock::duration::rep>>(0);  // time of the first failed check
  return [=](std::chrono::milliseconds waited) {
    if (waited >= patience) {
      end_process(ExitCode::peer_stalled,
                  fmt::format("[collectives] a program with collectives does not end, got nothing from {} in {:.0f} s, "
                              "expected its results: the device of another rank has stopped, or is not reached",
                              device, std::chrono::duration<double>(patience).count()));
    }
    try {
      check();
    } catch (const RuntimeFailure& error) {
      const Clock::duration::rep now = Clock::now().time_since_epoch().count();
      Clock::duration::rep first = 0;
      if (failed->compare_exchange_strong(first, now)) return;
      if (Clock::duration(now - first) >= kLastWait) end_process(error.code(), error.what());
    }
  };
}

}  // namespace

void join_devices(Communicator& world, Device& device) {
  const std::optional<bool> threads = are_threads(world);
  if (!threads) {
    throw InvalidArgument(
        "[collectives] collectives in programs of threads and of processes, got ranks of which some share a process, "
        "expected ranks that are all threads, or a process each, or --collectives cut");
  }
  if (!*threads) {
    require_equal(world, device.plugin_text());  // other plugins would wait for each other
    device.join({.rank = world.rank(), .count = world.size(), .on_host = world.host_place().rank, .share = [&world] {
                   return std::make_shared<SharedValues>(world);
                 }});
  }
  const Accelerator& accelerator = *device.accelerator();
  require_own_devices(world, accelerator, !*threads);
  if (!*threads) require_equal(world, text_of(accelerator));
}

/// Arguments that the ranks hand to the first one, and the results that it hands back. A barrier lies between each
/// write and its reads.
struct Gang::Table {
  Arguments arguments;                                // by rank
  std::vector<std::optional<pjrt::Results>> results;  // by rank
  std::mutex start;                                   // held while a program is started
  bool has_failed = false;  // guarded by `start`: some rank has left, and with it its arguments
};

/// Returns the table of ranks that are threads; null if they are processes.
std::shared_ptr<Gang::Table> Gang::meet() const {
  if (!are_threads(ranks_).value_or(false)) return nullptr;
  std::shared_ptr<Table> table;
  if (ranks_.rank() == 0) {
    table = std::make_shared<Table>();
    table->arguments.resize(static_cast<size_t>(ranks_.size()));
    table->results.resize(static_cast<size_t>(ranks_.size()));
  }
  return std::static_pointer_cast<Table>(shared_by_threads(ranks_, table));
}

Gang::Gang(Communicator& ranks, const Accelerator& accelerator, Timeout patience)
    : ranks_(ranks),
      accelerator_(accelerator),
      devices_(gathered(ranks, accelerator.client().id(accelerator.device()))),
      table_(meet()),
      watch_(accelerator.client().watch_waits(
          watch_of(table_ != nullptr ? "a device" : fmt::format("the device of rank {}", ranks.rank()), patience,
                   table_ != nullptr ? [] {} : ranks.failure_check()))) {}

std::shared_ptr<const pjrt::Executable> Gang::compile(const std::string& text) const {
  if (table_ != nullptr) return accelerator_.compile(text, devices_);
  std::shared_ptr<const pjrt::Executable> program;
  std::string bytes;
  if (ranks_.rank() == 0) {
    program = accelerator_.compile(text, devices_);
    try {
      bytes = program->serialized();
    } catch (const InternalError&) {  // the plugin cannot
    } catch (const RuntimeFailure& error) {
      if (error.code() != ExitCode::usage) throw;  // a plugin without the function
    }
  }
  auto count = static_cast<int64_t>(bytes.size());
  ranks_.broadcast(&count, 1, DType::i64, 0);
  bytes.resize(static_cast<size_t>(count));
  ranks_.broadcast(bytes.data(), count, DType::u8, 0);
  if (program != nullptr) return program;
  return bytes.empty() ? accelerator_.compile(text, devices_) : accelerator_.load(bytes);
}

/// Returns a number that no rank has had for a run. A collective call.
pjrt::RunId Gang::agree_on_run() const {
  int64_t number = accelerator_.next_run();
  ranks_.all_reduce(&number, 1, DType::i64, Reduce::max);
  accelerator_.pass_run(static_cast<pjrt::RunId>(number));
  return static_cast<pjrt::RunId>(number);
}

/// Waits for all ranks. A rank that leaves by an exception first waits until no program takes its arguments.
void Gang::meet_again() {
  try {
    ranks_.barrier();
  } catch (...) {
    const std::lock_guard lock(table_->start);
    table_->has_failed = true;
    table_->results[static_cast<size_t>(ranks_.rank())].reset();  // waits for the run
    throw;
  }
}

pjrt::Results Gang::run(std::vector<const pjrt::Buffer*> arguments, const Launch& launch) {
  if (table_ == nullptr) {
    const pjrt::RunId number = agree_on_run();
    return std::move(launch({std::move(arguments)}, number).at(0));
  }
  const auto rank = static_cast<size_t>(ranks_.rank());
  table_->arguments[rank] = std::move(arguments);
  meet_again();
  if (rank == 0) start(launch);
  meet_again();
  PARTITA_CHECK(table_->results[rank].has_value(), "no results of rank {}", rank);
  pjrt::Results own = std::move(*table_->results[rank]);
  table_->results[rank].reset();
  return own;
}

/// Starts the program for all ranks, unless one has left: then the next meeting fails.
void Gang::start(const Launch& launch) {
  const std::lock_guard lock(table_->start);
  if (table_->has_failed) return;
  std::vector<pjrt::Results> all = launch(table_->arguments, accelerator_.next_run());
  for (size_t r = 0; r < all.size(); ++r) table_->results[r].emplace(std::move(all[r]));
}

}  // namespace partita
