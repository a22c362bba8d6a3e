#include "comm/processes/communicator.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "comm/checked_communicator.h"
#include "comm/messages/message_group.h"
#include "comm/processes/blocks.h"
#include "comm/processes/host.h"
#include "comm/shared_memory/communicator.h"
#include "comm/shared_memory/segment.h"

namespace partita {
namespace {

constexpr uint64_t kWorldId = 1;
/// For what ranks do alike before a group is there.
constexpr Timeout kSetupTimeout = std::chrono::minutes(5);

/// What all groups of a world share.
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
    // Known to all alike, so that nobody has to ask.
    std::vector<uint64_t> keys;
    for (const int other : world_ranks()) keys.push_back(shared_world_->host->keys[other]);
    if (std::all_of(keys.begin(), keys.end(), [&](uint64_t key) { return key == keys[0]; })) {
      shared_ = share_memory(gather, 0, size());
    } else if (const auto blocks = HostBlocks::of(keys, this->rank())) {
      near_ = share_memory(gather, blocks->begin(), blocks->size());
      if (near_) blocks_ = blocks;
    }
  }

  ~ProcessCommunicator() override {
    // A process that ends with an error must not wait for the others.
    if (std::uncaught_exceptions() > 0 || world()->is_aborted()) return;
    for (const SharedMemory& part : {shared_, near_}) {
      if (part) part->leave();
    }
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

  /// Of the ranks [begin, begin + count) of the group, which are on this host, while others do the same on theirs; all
  /// have it in the end or none does, and they send messages.
  SharedMemory share_memory(const Gather& gather, int begin, int count) {
    const size_t bytes = SharedMemoryCommunicator::bytes(count);
    const bool fits = count <= SharedMemoryCommunicator::kMostRanks;
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
    auto* made =
        new SharedMemoryCommunicator(segment->data(), rank() - begin, std::vector<int>(ranks.begin(), ranks.end()),
                                     host.place.size, host.presence ? &*host.presence : nullptr, world().get());
    // Whoever wakes it may hold it a little longer than this group.
    const SharedMemory shared{made,
                              [kept = std::make_shared<SharedSegment>(std::move(*segment))](auto* end) { delete end; }};
    world()->enlist(shared);
    return shared;
  }

  /// Whether hosts may reduce their own contributions first and have the same bits: sums of 16-bit floats are rounded
  /// once, at the end. Short ones are faster without.
  bool reduces_by_host(const Call& call) const {
    constexpr int64_t kLeastBytes = 64 << 10;
    const bool is_rounded = call.dtype == DType::bf16 || call.dtype == DType::f16;
    return blocks_ && call.kind == Collective::all_reduce && !is_rounded &&
           call.count * static_cast<int64_t>(size_of(call.dtype)) >= kLeastBytes;
  }

  /// The first ranks of each host own a share each. They get what the ranks of their host have of it, pass the sum on
  /// from host to host, and back, and give it to the ranks of their host.
  void reduce_by_host(const Call& call, Timeout timeout) {
    const auto item = static_cast<int64_t>(size_of(call.dtype));
    const int place = rank() - blocks_->begin(), here = blocks_->size(), shares = blocks_->shares();
    const int64_t per_round = Carrier::kMostBytes / item;
    std::vector<int64_t> given(here), taken(here);
    std::vector<const void*> own;
    for (int64_t done = 0; done < call.count; done += per_round) {
      const int64_t count = std::min(call.count - done, per_round);
      auto* data = static_cast<std::byte*>(call.recv) + done * item;
      for (int i = 0; i < here; ++i) given[i] = i < shares ? count * (i + 1) / shares - count * i / shares : 0;
      taken.assign(here, given[place]);
      contributions_.resize(given[place] * here * item);
      share_.resize(given[place] * item);
      near_->run({.kind = Collective::all_to_all,
                  .dtype = call.dtype,
                  .count = count,
                  .counts = given,
                  .recv_counts = taken,
                  .send = data,
                  .recv = contributions_.data()},
                 timeout);
      if (place < shares) {
        own.clear();
        for (int i = 0; i < here; ++i) own.push_back(contributions_.data() + i * given[place] * item);
        const int block = blocks_->own;
        messages_.chain_reduce(call, own, given[place], share_.data(),
                               block > 0 ? blocks_->begins[block - 1] + place : -1,
                               block + 1 < blocks_->count() ? blocks_->begins[block + 1] + place : -1, timeout);
      }
      near_->run({.kind = Collective::all_gather,
                  .dtype = call.dtype,
                  .count = count,
                  .counts = given,
                  .send = share_.data(),
                  .recv = data},
                 timeout);
    }
  }

  /// Whoever is still in a call must not wait for this process, which ends. Ranks in shared memory see that it has
  /// left.
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
    if (shared_) {
      shared_->run(call, timeout);
    } else if (reduces_by_host(call)) {
      reduce_by_host(call, timeout);
    } else {
      messages_.run(call, timeout);
    }
  }
  void send_to(int to, const Call& call, Timeout timeout) override { messages_.send(call, to, timeout); }
  void post_to(int to, const Call& call) override { messages_.post(call, to); }
  void recv_from(int from, const Call& call, Timeout timeout) override { messages_.recv(call, from, timeout); }

  std::unique_ptr<Communicator> split_off(const Call& call, int, uint64_t id, Timeout timeout) override {
    run(call, timeout);  // all are here, and agree, when the carrier is split
    std::vector<int> ranks;
    for (const int member : call.members) ranks.push_back(world_ranks()[member]);
    return std::make_unique<ProcessCommunicator>(shared_world_, carrier_->split(id, call.members), std::move(ranks),
                                                 id);
  }

  const std::shared_ptr<SharedWorld> shared_world_;
  const std::unique_ptr<Carrier> carrier_;
  MessageGroup messages_;
  SharedMemory shared_;  // of the whole group
  SharedMemory near_;    // of the ranks on this host, of a group that spans hosts
  std::optional<HostBlocks> blocks_;
  std::vector<std::byte> contributions_, share_;
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
