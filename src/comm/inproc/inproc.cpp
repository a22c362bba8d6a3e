#include "comm/inproc/inproc.h"

#include <algorithm>
#include <numeric>

#include "comm/checks.h"
#include "comm/inproc/group.h"

namespace partita {
namespace {

class InprocCommunicator final : public Communicator {
 public:
  InprocCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  std::span<const int> world_ranks() const override { return group_->world_ranks(); }
  HostPlace host_place() const override { return {group_->world_ranks()[rank_], group_->world().size()}; }
  CommCapabilities capabilities() const override { return {.backend = "inproc"}; }

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override;
  void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) override;
  void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Timeout timeout) override;
  void reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                      Timeout timeout) override;
  void all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                  std::span<const int64_t> recv_counts, DType dtype, Timeout timeout) override;
  void broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout) override;
  void send(const void* data, int64_t count, DType dtype, int to, Timeout timeout) override;
  void recv(void* data, int64_t count, DType dtype, int from, Timeout timeout) override;
  void barrier(Timeout timeout) override;
  void abort(const std::string& message, ExitCode code) noexcept override;

 private:
  const std::shared_ptr<Group> group_;
  const int rank_;
};

std::unique_ptr<Communicator> InprocCommunicator::split(std::span<const int> members, Timeout timeout) {
  check_members(members, rank_, size());
  const Call call{.kind = Call::Kind::split, .members = members};
  auto part = group_->split(rank_, call, timeout);
  const auto place = std::find(members.begin(), members.end(), rank_);
  return std::make_unique<InprocCommunicator>(std::move(part), static_cast<int>(place - members.begin()));
}

void InprocCommunicator::all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) {
  check_count("all_reduce", count);
  check_buffer("all_reduce", data, count);
  check_reduce("all_reduce", reduce);
  const Call call{.kind = Call::Kind::all_reduce, .dtype = dtype, .reduce = reduce, .count = count, .recv = data};
  group_->meet(rank_, call, timeout);
}

void InprocCommunicator::all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                                    Timeout timeout) {
  const int64_t total = checked_sum("all_gather", counts, size());
  check_buffer("all_gather", send, counts[rank_]);
  check_buffer("all_gather", recv, total);
  const Call call{
      .kind = Call::Kind::all_gather, .dtype = dtype, .count = total, .counts = counts, .send = send, .recv = recv};
  group_->meet(rank_, call, timeout);
}

void InprocCommunicator::reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                                        Reduce reduce, Timeout timeout) {
  const int64_t total = checked_sum("reduce_scatter", counts, size());
  check_buffer("reduce_scatter", send, total);
  check_buffer("reduce_scatter", recv, counts[rank_]);
  check_reduce("reduce_scatter", reduce);
  const Call call{.kind = Call::Kind::reduce_scatter,
                  .dtype = dtype,
                  .reduce = reduce,
                  .count = total,
                  .counts = counts,
                  .send = send,
                  .recv = recv};
  group_->meet(rank_, call, timeout);
}

void InprocCommunicator::all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                                    std::span<const int64_t> recv_counts, DType dtype, Timeout timeout) {
  const int64_t sent = checked_sum("all_to_all", send_counts, size());
  const int64_t received = checked_sum("all_to_all", recv_counts, size());
  check_buffer("all_to_all", send, sent);
  check_buffer("all_to_all", recv, received);
  const Call call{.kind = Call::Kind::all_to_all,
                  .dtype = dtype,
                  .count = sent,
                  .counts = send_counts,
                  .recv_counts = recv_counts,
                  .send = send,
                  .recv = recv};
  group_->meet(rank_, call, timeout);
}

void InprocCommunicator::broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout) {
  check_count("broadcast", count);
  check_buffer("broadcast", data, count);
  check_peer("broadcast", root, size());
  const Call call{.kind = Call::Kind::broadcast, .dtype = dtype, .root = root, .count = count, .recv = data};
  group_->meet(rank_, call, timeout);
}

void InprocCommunicator::send(const void* data, int64_t count, DType dtype, int to, Timeout timeout) {
  check_count("send", count);
  check_buffer("send", data, count);
  check_peer("send", to, size());
  const Call call{.kind = Call::Kind::send, .dtype = dtype, .count = count, .send = data};
  group_->send(rank_, call, to, timeout);
}

void InprocCommunicator::recv(void* data, int64_t count, DType dtype, int from, Timeout timeout) {
  check_count("recv", count);
  check_buffer("recv", data, count);
  check_peer("recv", from, size());
  const Call call{.kind = Call::Kind::recv, .dtype = dtype, .count = count, .recv = data};
  group_->recv(rank_, call, from, timeout);
}

void InprocCommunicator::barrier(Timeout timeout) { group_->meet(rank_, Call{}, timeout); }

void InprocCommunicator::abort(const std::string& message, ExitCode code) noexcept {
  group_->world().abort(message, code);
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_inproc_world(int size) {
  if (size < 1 || size > kMaxRanks) {
    throw InvalidArgument(
        fmt::format("[make_inproc_world] bad number of ranks, got {}, expected 1 "
                    "to {}",
                    size, kMaxRanks));
  }
  std::vector<int> world_ranks(size);
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  const auto group = Group::make(std::make_shared<World>(size), std::move(world_ranks));
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(std::make_unique<InprocCommunicator>(group, r));
  return ranks;
}

}  // namespace partita
