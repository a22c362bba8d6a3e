#include "runtime/comm/checked_communicator.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace partita {
namespace {

/// Small enough that no sum of bytes over a group overflows.
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

/// Returns the id of a group that a split makes, the same on all its ranks (one step of FNV-1a per byte). `whole` is
/// the id of the group that is split, `number` the number of this split among those of that group.
uint64_t id_of_part(uint64_t whole, uint64_t number, std::span<const int> members) {
  constexpr uint64_t kPrime = 1099511628211ULL;
  uint64_t hash = 14695981039346656037ULL;
  const auto mix = [&](uint64_t part) {
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (part >> (8 * byte) & 0xff)) * kPrime;
  };
  mix(whole);
  mix(number);
  for (const int member : members) mix(static_cast<uint64_t>(member));
  return hash;
}

}  // namespace

template <class Body>
void CheckedCommunicator::recorded(Call call, int peer, Body&& body) {
  call.step = world_->step();
  if (record_ == nullptr) return body(call);
  const uint64_t number = record_->begin(call, id_, world_ranks_, peer);
  try {
    body(call);
  } catch (...) {
    record_->end(number, /*failed=*/true);
    throw;
  }
  record_->end(number, /*failed=*/false);
}

void CheckedCommunicator::collective(const Call& call, Timeout timeout) {
  Call numbered = call;
  numbered.number = ++calls_;
  recorded(numbered, -1, [&](const Call& whole) { run(whole, timeout); });
}

std::unique_ptr<Communicator> CheckedCommunicator::split(std::span<const int> members, Timeout timeout) {
  check_members(members, rank_, size());
  const auto place = std::find(members.begin(), members.end(), rank_) - members.begin();
  const uint64_t id = id_of_part(id_, ++splits_, members);
  std::unique_ptr<Communicator> part;
  recorded({.kind = Collective::split, .members = members, .number = ++calls_}, -1,
           [&](const Call& call) { part = split_off(call, static_cast<int>(place), id, timeout); });
  return part;
}

void CheckedCommunicator::all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) {
  check_count("all_reduce", count);
  check_buffer("all_reduce", data, count);
  check_reduce("all_reduce", reduce);
  collective({.kind = Collective::all_reduce, .dtype = dtype, .reduce = reduce, .count = count, .recv = data}, timeout);
}

void CheckedCommunicator::all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                                     Timeout timeout) {
  const int64_t total = checked_sum("all_gather", counts, size());
  check_buffer("all_gather", send, counts[rank_]);
  check_buffer("all_gather", recv, total);
  collective(
      {.kind = Collective::all_gather, .dtype = dtype, .count = total, .counts = counts, .send = send, .recv = recv},
      timeout);
}

void CheckedCommunicator::reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                                         Reduce reduce, Timeout timeout) {
  const int64_t total = checked_sum("reduce_scatter", counts, size());
  check_buffer("reduce_scatter", send, total);
  check_buffer("reduce_scatter", recv, counts[rank_]);
  check_reduce("reduce_scatter", reduce);
  collective({.kind = Collective::reduce_scatter,
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
  collective({.kind = Collective::all_to_all,
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
  collective({.kind = Collective::broadcast, .dtype = dtype, .root = root, .count = count, .recv = data}, timeout);
}

void CheckedCommunicator::send(const void* data, int64_t count, DType dtype, int to, Timeout timeout) {
  check_count("send", count);
  check_buffer("send", data, count);
  check_peer("send", to, size());
  recorded({.kind = Collective::send, .dtype = dtype, .count = count, .send = data}, world_ranks_[to],
           [&](const Call& call) { send_to(to, call, timeout); });
}

void CheckedCommunicator::post(const void* data, int64_t count, DType dtype, int to) {
  check_count("post", count);
  check_buffer("post", data, count);
  check_peer("post", to, size());
  recorded({.kind = Collective::send, .dtype = dtype, .count = count, .send = data}, world_ranks_[to],
           [&](const Call& call) { post_to(to, call); });
}

void CheckedCommunicator::recv(void* data, int64_t count, DType dtype, int from, Timeout timeout) {
  check_count("recv", count);
  check_buffer("recv", data, count);
  check_peer("recv", from, size());
  recorded({.kind = Collective::recv, .dtype = dtype, .count = count, .recv = data}, world_ranks_[from],
           [&](const Call& call) { recv_from(from, call, timeout); });
}

void CheckedCommunicator::barrier(Timeout timeout) { collective({}, timeout); }

}  // namespace partita
