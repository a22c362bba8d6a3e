#include "runtime/comm/processes/communicator.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "runtime/comm/checked_communicator.h"
#include "runtime/comm/messages/message_group.h"
#include "runtime/comm/processes/host.h"
#include "runtime/comm/processes/host_collectives.h"
#include "runtime/comm/shared_memory/communicator.h"
#include "runtime/comm/shared_memory/segment.h"

namespace partita {
namespace {

constexpr uint64_t kWorldId = 1;
/// Timeout of the collective setup of a group.
constexpr Timeout kSetupTimeout = std::chrono::minutes(5);

/// State that all groups of a world share.
struct SharedWorld {
  ProcessWorld parts;
  std::shared_ptr<const Host> host{};
};

class ProcessCommunicator final : public CheckedCommunicator {
 public:
  ProcessCommunicator(std::shared_ptr<SharedWorld> world, std::unique_ptr<Carrier> carrier, std::vector<int> ranks,
                      uint64_t id)
      : CheckedCommunicator(carrier->rank(), std::move(ranks), world->parts.state, id, world->parts.record),
        shared_world_(std::move(world)),
        carrier_(std::move(carrier)),
        messages_(*carrier_, world_ranks(), *shared_world_->parts.state,
                  [this](int peer) { return shared_world_->host != nullptr && shared_world_->host->is_gone(peer); }) {
    const Gather gather = [this](std::span<const std::byte> own) { return gathered(own); };
    if (!shared_world_->host) {
      shared_world_->host = find_host(gather, this->rank(), size(), shared_world_->parts.host_key);
    }
    if (size() < 2) return;
    // Every rank computes the same, so no communication is needed.
    std::vector<uint64_t> keys;
    for (const int other : world_ranks()) keys.push_back(shared_world_->host->keys[other]);
    if (std::all_of(keys.begin(), keys.end(), [&](uint64_t key) { return key == keys[0]; })) {
      shared_ = share_memory(gather, 0, size());
      spread_ = {.ranks = size(), .min_per_host = size(), .max_per_host = size(), .share_memory = shared_ != nullptr};
    } else if (const auto blocks = HostBlocks::of(keys, this->rank())) {
      if (auto near = share_memory(gather, blocks->begin(), blocks->size())) {
        spread_ = blocks->spread();
        by_host_.emplace(*blocks, std::move(near), messages_, this->rank());
      }
    }
  }

  ~ProcessCommunicator() override {
    // A process that ends with an error must not wait for others.
    if (std::uncaught_exceptions() > 0 || world()->is_aborted()) return;
    if (shared_) shared_->leave();
    if (by_host_) by_host_->leave();
    if (id() == kWorldId) leave_world();
  }
  ProcessCommunicator(const ProcessCommunicator&) = delete;
  ProcessCommunicator& operator=(const ProcessCommunicator&) = delete;

  HostPlace host_place() const override { return shared_world_->host->place; }

  void abort(const std::string& message, ExitCode code) noexcept override {
    world()->abort(message, code);
    if (record()) record()->fail(code, world()->failure().lost, message);
    shared_world_->parts.broadcast_failure(message, code);
  }

 private:
  std::vector<std::byte> gathered(std::span<const std::byte> own) {
    const auto bytes = static_cast<int64_t>(own.size());
    std::vector<std::byte> all(own.size() * size());
    const std::vector<int64_t> counts(size(), bytes);
    messages_.run({.kind = Collective::all_gather,
                   .count = bytes * size(),
                   .counts = counts,
                   .send = own.data(),
                   .recv = all.data()},
                  kSetupTimeout);
    return all;
  }

  using SharedMemory = std::shared_ptr<SharedMemoryCommunicator>;

  /// Sets up shared memory of the group's ranks [begin, begin + count), which are on this host, while other hosts do
  /// the same for theirs. A collective call over the group. Returns null on all ranks if it fails on any, as for more
  /// than 64 ranks; they send messages then. Throws RankFailures.
  SharedMemory share_memory(const Gather& gather, int begin, int count) {
    const size_t bytes = SharedMemoryCommunicator::bytes(count);
    const bool fits = count <= SharedMemoryCommunicator::kMaxRanks;
    std::optional<SharedSegment> segment;
    if (rank() == begin && fits) {
      segment = SharedSegment::create(bytes);
      if (segment) SharedMemoryCommunicator::prepare(segment->data(), count);
    }
    const std::string name = name_from(gather, begin, segment ? segment->name() : "");
    if (rank() != begin && !name.empty()) segment = SharedSegment::open(name, bytes);
    const bool all_have_it = all_agree(gather, segment.has_value());
    if (rank() == begin && segment) segment->unlink();
    if (!all_have_it) return nullptr;
    const Host& host = *shared_world_->host;
    const auto ranks = world_ranks().subspan(begin, count);
    auto* made = new SharedMemoryCommunicator(
        segment->data(), rank() - begin, std::vector<int>(ranks.begin(), ranks.end()),
        wait_policy(host.place.size, host.cores), host.presence ? &*host.presence : nullptr, world().get());
    // A thread that wakes it may keep it alive a little longer than this group.
    const SharedMemory shared{made,
                              [kept = std::make_shared<SharedSegment>(std::move(*segment))](auto* end) { delete end; }};
    world()->enlist(shared);
    return shared;
  }

  /// Takes leave of the other ranks, so that no rank in a call waits for this process, and calls `finalize`. Does not
  /// take leave if the ranks share memory, where they have seen it already; else waits for all ranks. If either fails,
  /// aborts the world and then calls `on_failed_end` with the error.
  void leave_world() noexcept {
    const ProcessWorld& parts = shared_world_->parts;
    ExitCode code = ExitCode::out_of_memory;
    std::string text;
    try {
      if (!shared_ && size() > 1) messages_.leave();
      if (parts.finalize) parts.finalize();
      return;
    } catch (const Error& error) {
      code = error.code();
      text = error.what();
    } catch (const std::exception&) {
      text = "[memory] out of memory";
    }
    abort(text, code);
    if (parts.on_failed_end) parts.on_failed_end(code, text);
  }

  void run(const Call& call, Timeout timeout) override {
    const auto bytes = static_cast<double>(call.count) * static_cast<double>(size_of(call.dtype));
    switch (choose_algorithm(call.kind, call.dtype, spread_).of(bytes)) {
      case CollectiveAlgorithm::shared_memory: return shared_->run(call, timeout);
      case CollectiveAlgorithm::chain:
      case CollectiveAlgorithm::host_shares: return by_host_->run(call, timeout);
      default: return messages_.run(call, timeout);
    }
  }
  void send_to(int to, const Call& call, Timeout timeout) override { messages_.send(call, to, timeout); }
  void post_to(int to, const Call& call) override { messages_.post(call, to); }
  void recv_from(int from, const Call& call, Timeout timeout) override { messages_.recv(call, from, timeout); }

  std::unique_ptr<Communicator> split_off(const Call& call, int, uint64_t id, Timeout timeout) override {
    run(call, timeout);  // all ranks have arrived and agree before the carrier is split
    std::vector<int> ranks;
    for (const int member : call.members) ranks.push_back(world_ranks()[member]);
    return std::make_unique<ProcessCommunicator>(shared_world_, carrier_->split(id, call.members), std::move(ranks),
                                                 id);
  }

  const std::shared_ptr<SharedWorld> shared_world_;
  const std::unique_ptr<Carrier> carrier_;
  MessageGroup messages_;
  RankSpread spread_{.share_memory = false};
  SharedMemory shared_;                     // memory of the whole group; null if it spans hosts
  std::optional<HostCollectives> by_host_;  // if the group spans hosts and some have several ranks
};

}  // namespace

std::unique_ptr<Communicator> make_process_communicator(ProcessWorld world) {
  std::vector<int> ranks(world.carrier->size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::unique_ptr<Carrier> carrier = std::move(world.carrier);
  auto shared = std::make_shared<SharedWorld>(SharedWorld{std::move(world)});
  return std::make_unique<ProcessCommunicator>(std::move(shared), std::move(carrier), std::move(ranks), kWorldId);
}

}  // namespace partita
