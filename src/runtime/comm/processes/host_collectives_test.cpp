// Collectives of ranks on several hosts, which are threads here: the numbers are those of one process, and hosts send
// each other the bytes that prices count for the algorithm that is chosen.

#include "runtime/comm/processes/host_collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <random>

#include "runtime/comm/processes/communicator.h"
#include "runtime/comm/run_ranks.h"

namespace partita {
namespace {

/// Messages between the ranks of a world, in memory, and the bytes that ranks of different hosts have sent.
class Wires {
 public:
  explicit Wires(std::vector<int> hosts) : hosts_(std::move(hosts)) {}

  struct Key {
    uint64_t group = 0;
    int from = 0, to = 0, tag = 0;  // ranks of the world
    auto operator<=>(const Key&) const = default;
  };

  void send(const Key& key, const PendingMessage& message) {
    const std::lock_guard lock(mutex_);
    queues_[key].emplace_back(message.data, message.data + message.bytes);
    if (hosts_[key.from] != hosts_[key.to]) sent_[hosts_[key.from]] += message.bytes;
    changed_.notify_all();
  }

  /// Receives what has arrived for `messages` until the first `count` of them are done. Returns whether they are.
  bool receive(std::deque<PendingMessage>& messages, size_t count, Deadline until,
               const std::function<Key(const PendingMessage&)>& key_of) {
    std::unique_lock lock(mutex_);
    const auto are_done = [&] {
      for (PendingMessage& message : messages) {
        std::deque<std::vector<std::byte>>& queue = queues_[key_of(message)];
        if (message.done || queue.empty()) continue;
        message.received = static_cast<int64_t>(queue.front().size());
        std::copy_n(queue.front().begin(), std::min(message.received, message.bytes), message.data);
        message.done = true;
        queue.pop_front();
      }
      return std::all_of(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(count),
                         [](const PendingMessage& message) { return message.done; });
    };
    return changed_.wait_until(lock, until, are_done);
  }

  /// Returns the most bytes that a host has sent to others since the last call.
  int64_t take_most_sent() {
    const std::lock_guard lock(mutex_);
    int64_t most = 0;
    for (const auto& [host, bytes] : std::exchange(sent_, {})) most = std::max(most, bytes);
    return most;
  }

 private:
  const std::vector<int> hosts_;  // host of each rank
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::deque<std::vector<std::byte>>> queues_;
  std::map<int, int64_t> sent_;  // bytes by host
};

class WireCarrier final : public Carrier {
 public:
  WireCarrier(Wires& wires, uint64_t group, int rank, std::vector<int> ranks)
      : wires_(wires), group_(group), rank_(rank), ranks_(std::move(ranks)) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }
  void start(PendingMessage& message) override {
    if (message.way == PendingMessage::Way::receive) return;
    wires_.send(key_of(message), message);
    message.done = true;
  }
  void post(const PendingMessage& message) override { wires_.send(key_of(message), message); }
  bool wait(std::deque<PendingMessage>& messages, size_t count, Deadline until) override {
    return wires_.receive(messages, count, until, [this](const PendingMessage& message) { return key_of(message); });
  }
  bool withdraw(std::deque<PendingMessage>& messages) noexcept override {
    return std::all_of(messages.begin(), messages.end(), [](const PendingMessage& one) { return one.done; });
  }
  std::unique_ptr<Carrier> split(uint64_t id, std::span<const int> members) override {
    std::vector<int> ranks;
    for (const int member : members) ranks.push_back(ranks_[member]);
    const auto own = std::find(members.begin(), members.end(), rank_);
    return std::make_unique<WireCarrier>(wires_, id, static_cast<int>(own - members.begin()), std::move(ranks));
  }

 private:
  Wires::Key key_of(const PendingMessage& message) const {
    const int own = ranks_[rank_], peer = ranks_[message.peer];
    const bool sends = message.way == PendingMessage::Way::send;
    return {group_, sends ? own : peer, sends ? peer : own, message.tag};
  }

  Wires& wires_;
  const uint64_t group_;
  const int rank_;
  const std::vector<int> ranks_;
};

std::vector<int> hosts_of(const std::vector<int>& sizes) {
  std::vector<int> hosts;
  for (int host = 0; host < static_cast<int>(sizes.size()); ++host) hosts.insert(hosts.end(), sizes[host], host);
  return hosts;
}

/// Runs `fn(communicator, comm, wires)` on every rank, where `comm` has the collectives of one process.
template <class Fn>
void on_hosts(const std::vector<int>& sizes, const Fn& fn) {
  const std::vector<int> hosts = hosts_of(sizes);
  const int ranks = static_cast<int>(hosts.size());
  Wires wires(hosts);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<int> all(ranks);
    std::iota(all.begin(), all.end(), 0);
    const std::unique_ptr<Communicator> communicator = make_process_communicator(
        {.carrier = std::make_unique<WireCarrier>(wires, 1, comm.rank(), all),
         .state = std::make_shared<WorldState>(ranks),
         .host_key = static_cast<uint64_t>(hosts[comm.rank()]) + 1,
         .broadcast_failure = [](const std::string& message, ExitCode) { ADD_FAILURE() << message; }});
    fn(*communicator, comm, wires);
    comm.barrier();
  });
}

std::vector<float> noise_of(int rank, int64_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) + 7);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

/// Calls a collective of `count` elements, a multiple of the ranks, and returns the result of this rank.
std::vector<float> result_of(Communicator& comm, Collective kind, int64_t count, DType dtype) {
  std::vector<float> data = noise_of(comm.rank(), count), result;
  const std::vector<int64_t> counts(comm.size(), count / comm.size());
  switch (kind) {
    case Collective::all_reduce: comm.all_reduce(data.data(), count, dtype, Reduce::sum); return data;
    case Collective::broadcast: comm.broadcast(data.data(), count, dtype, 1); return data;
    case Collective::reduce_scatter: {
      result.resize(counts[0]);
      comm.reduce_scatter(data.data(), result.data(), counts, dtype, Reduce::sum);
      return result;
    }
    case Collective::all_to_all: {
      result.resize(count);
      comm.all_to_all(data.data(), counts, result.data(), counts, dtype);
      return result;
    }
    default: {
      result.resize(count);
      comm.all_gather(data.data(), result.data(), counts, dtype);
      return result;
    }
  }
}

constexpr Collective kKinds[] = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                                 Collective::all_to_all, Collective::broadcast};

TEST(HostCollectives, NumbersOfOneProcess) {
  for (const std::vector<int>& sizes : std::vector<std::vector<int>>{{2, 2}, {1, 3}, {2, 1, 3}}) {
    on_hosts(sizes, [&](Communicator& communicator, Communicator& comm, Wires&) {
      for (const Collective kind : kKinds) {
        for (const int64_t parts : {20, 20'000}) {
          const int64_t count = parts * comm.size();
          const std::vector<float> found = result_of(communicator, kind, count, DType::f32);
          const std::vector<float> expected = result_of(comm, kind, count, DType::f32);
          ASSERT_EQ(found.size(), expected.size());
          EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0)
              << name_of(kind) << " " << count;
        }
      }
    });
  }
}

TEST(HostCollectives, SendWhatPricesCount) {
  for (const std::vector<int>& sizes : std::vector<std::vector<int>>{{2, 2}, {4, 4}, {2, 2, 2}, {3, 3, 3}}) {
    on_hosts(sizes, [&](Communicator& communicator, Communicator& comm, Wires& wires) {
      const int64_t hosts = std::ssize(sizes), per_host = sizes[0];
      const RankSpread spread{comm.size(), hosts, per_host, per_host};
      for (const Collective kind : kKinds) {
        for (const int64_t parts : {360, 36'000}) {
          const int64_t count = parts * comm.size();
          comm.barrier();
          if (comm.rank() == 0) wires.take_most_sent();
          comm.barrier();
          result_of(communicator, kind, count, DType::f32);
          comm.barrier();
          if (comm.rank() != 0) continue;
          const auto bytes = static_cast<double>(count * 4);
          const CollectiveAlgorithm algorithm = choose_algorithm(kind, DType::f32, spread).of(bytes);
          EXPECT_DOUBLE_EQ(static_cast<double>(wires.take_most_sent()), traffic_of(algorithm, kind, bytes, spread).sent)
              << name_of(kind) << " of " << bytes << " bytes by " << name_of(algorithm) << " on " << hosts << " hosts";
        }
      }
    });
  }
}

}  // namespace
}  // namespace partita
