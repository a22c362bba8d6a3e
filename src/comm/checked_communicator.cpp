#include "comm/checked_communicator.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace partita {
namespace {

/// So large that no sum of bytes over a group overflows.
constexpr int64_t kMaxCount = std::numeric_limits<int64_t>::max() / 8 / (int64_t{1} << 20);

void check_count(std::string_view where, int64_t count) {
  if (count < 0 || count > kMaxCount) {
    throw InvalidArgument(fmt::format("[{}] bad count, got {}, expected 0 to {}", where, count, kMaxCount));
  }
}

void check_buffer(std::string_view where, const void* buffer, int64_t count) {
  if (buffer == nullptr && count > 0) {
    throw InvalidArgument(fmt::format("[{}] no buffer, got null, expected {} elements", where, count));
  }
}

void check_reduce(std::string_view where, Reduce reduce) {
  if (reduce == Reduce::none) {
    throw InvalidArgument(fmt::format("[{}] bad reduction, got none, expected sum, max or min", where));
  }
}

void check_peer(std::string_view where, int peer, int size) {
  if (peer < 0 || peer >= size) {
    throw InvalidArgument(fmt::format("[{}] bad rank, got {}, expected 0 to {}", where, peer, size - 1));
  }
}

int64_t checked_sum(std::string_view where, std::span<const int64_t> counts, int size) {
  if (static_cast<int>(counts.size()) != size) {
    throw InvalidArgument(fmt::format("[{}] bad number of counts, got {}, expected {}", where, counts.size(), size));
  }
  int64_t sum = 0;
  for (int64_t count : counts) {
    check_count(where, count);
    sum += count;
    check_count(where, sum);
  }
  return sum;
}

void check_members(std::span<const int> members, int rank, int size) {
  std::vector<bool> seen(size);
  for (int member : members) {
    check_peer("split", member, size);
    if (seen[member]) {
      throw InvalidArgument(fmt::format("[split] a rank is given twice, got {}, expected different ones", member));
    }
    seen[member] = true;
  }
  if (!seen[rank]) {
    throw InvalidArgument(fmt::format("[split] bad group, got one without this rank, expected rank {} in it", rank));
  }
}

}  // namespace

std::unique_ptr<Communicator> CheckedCommunicator::split(std::span<const int> members, Timeout timeout) {
  check_members(members, rank_, size());
  const auto place = std::find(members.begin(), members.end(), rank_) - members.begin();
  return split_off({.kind = Collective::split, .members = members}, static_cast<int>(place), timeout);
}

void CheckedCommunicator::all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) {
  check_count("all_reduce", count);
  check_buffer("all_reduce", data, count);
  check_reduce("all_reduce", reduce);
  run({.kind = Collective::all_reduce, .dtype = dtype, .reduce = reduce, .count = count, .recv = data}, timeout);
}

void CheckedCommunicator::all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                                     Timeout timeout) {
  const int64_t total = checked_sum("all_gather", counts, size());
  check_buffer("all_gather", send, counts[rank_]);
  check_buffer("all_gather", recv, total);
  run({.kind = Collective::all_gather, .dtype = dtype, .count = total, .counts = counts, .send = send, .recv = recv},
      timeout);
}

void CheckedCommunicator::reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                                         Reduce reduce, Timeout timeout) {
  const int64_t total = checked_sum("reduce_scatter", counts, size());
  check_buffer("reduce_scatter", send, total);
  check_buffer("reduce_scatter", recv, counts[rank_]);
  check_reduce("reduce_scatter", reduce);
  run({.kind = Collective::reduce_scatter,
       .dtype = dtype,
       .reduce = reduce,
       .count = total,
       .counts = counts,
       .send = send,
       .recv = recv},
      timeout);
}

void CheckedCommunicator::all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                                     std::span<const int64_t> recv_counts, DType dtype, Timeout timeout) {
  const int64_t sent = checked_sum("all_to_all", send_counts, size());
  const int64_t received = checked_sum("all_to_all", recv_counts, size());
  check_buffer("all_to_all", send, sent);
  check_buffer("all_to_all", recv, received);
  run({.kind = Collective::all_to_all,
       .dtype = dtype,
       .count = sent,
       .counts = send_counts,
       .recv_counts = recv_counts,
       .send = send,
       .recv = recv},
      timeout);
}

void CheckedCommunicator::broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout) {
  check_count("broadcast", count);
  check_buffer("broadcast", data, count);
  check_peer("broadcast", root, size());
  run({.kind = Collective::broadcast, .dtype = dtype, .root = root, .count = count, .recv = data}, timeout);
}

void CheckedCommunicator::send(const void* data, int64_t count, DType dtype, int to, Timeout timeout) {
  check_count("send", count);
  check_buffer("send", data, count);
  check_peer("send", to, size());
  send_to(to, {.kind = Collective::send, .dtype = dtype, .count = count, .send = data}, timeout);
}

void CheckedCommunicator::post(const void* data, int64_t count, DType dtype, int to) {
  check_count("post", count);
  check_buffer("post", data, count);
  check_peer("post", to, size());
  post_to(to, {.kind = Collective::send, .dtype = dtype, .count = count, .send = data});
}

void CheckedCommunicator::recv(void* data, int64_t count, DType dtype, int from, Timeout timeout) {
  check_count("recv", count);
  check_buffer("recv", data, count);
  check_peer("recv", from, size());
  recv_from(from, {.kind = Collective::recv, .dtype = dtype, .count = count, .recv = data}, timeout);
}

void CheckedCommunicator::barrier(Timeout timeout) { run({}, timeout); }

}  // namespace partita
