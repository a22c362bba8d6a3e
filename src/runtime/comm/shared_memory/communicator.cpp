#include "runtime/comm/shared_memory/communicator.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "runtime/comm/rank_parts.h"
#include "runtime/comm/reduce_kernels.h"

namespace partita {
namespace {

int64_t chunks_of(int64_t elements, int64_t per_chunk) {
  return std::max<int64_t>(1, (elements + per_chunk - 1) / per_chunk);
}

/// Number of elements in chunk `index`; fewer in the last, 0 after it.
int64_t rest_of(int64_t elements, int64_t per_chunk, int64_t index) {
  return std::clamp<int64_t>(elements - index * per_chunk, 0, per_chunk);
}

int64_t largest_of(std::span<const int64_t> counts) {
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

}  // namespace

SharedMemoryCommunicator::SharedMemoryCommunicator(void* segment, int rank, std::vector<int> world_ranks,
                                                   const WaitPolicy& policy, const Presence* presence,
                                                   const WorldState* world)
    : segment_(segment, static_cast<int>(world_ranks.size())),
      rank_(rank),
      meetings_(segment_, rank, std::move(world_ranks), policy, presence, world),
      members_(static_cast<size_t>(size())) {
  PARTITA_CHECK(size() <= kMaxRanks, "{} ranks", size());
}

void SharedMemoryCommunicator::prepare(void* segment, int ranks) { SegmentLayout(segment, ranks).prepare(); }

void SharedMemoryCommunicator::announce(const Call& call) {
  const size_t listed = call.kind == Collective::split ? call.members.size() : call.counts.size();
  segment_.rank_state(rank_).announced[calls_ % 2] = {call.kind,
                                                      call.named(),
                                                      call.dtype,
                                                      call.reduce,
                                                      call.root,
                                                      call.count,
                                                      static_cast<int64_t>(listed),
                                                      static_cast<int64_t>(call.recv_counts.size())};
  int64_t* list = segment_.lists(rank_, calls_);
  if (call.kind == Collective::split) {
    std::copy(call.members.begin(), call.members.end(), list);
  } else {
    std::copy(call.counts.begin(), call.counts.end(), list);
  }
  std::copy(call.recv_counts.begin(), call.recv_counts.end(), list + size());
}

Call SharedMemoryCommunicator::announced(int rank) {
  const Announcement& announcement = segment_.rank_state(rank).announced[calls_ % 2];
  const int64_t* list = segment_.lists(rank, calls_);
  Call call{.kind = announcement.kind,
            .part_of = announcement.named,
            .dtype = announcement.dtype,
            .reduce = announcement.reduce,
            .root = announcement.root,
            .count = announcement.count};
  if (announcement.kind == Collective::split) {
    members_[rank].assign(list, list + announcement.listed);
    call.members = members_[rank];
  } else {
    call.counts = {list, static_cast<size_t>(announcement.listed)};
    call.recv_counts = {list + size(), static_cast<size_t>(announcement.received)};
  }
  return call;
}

void SharedMemoryCommunicator::synchronize() {
  meetings_.meet();
  if (!std::exchange(compared_, true)) compare();
}

void SharedMemoryCommunicator::compare() {
  announced_.clear();
  for (int r = 0; r < size(); ++r) announced_.push_back(announced(r));
  if (const auto text = disagreement([&](int r) -> const Call& { return announced_[r]; }, meetings_.world_ranks())) {
    throw RuntimeFailure(ExitCode::ranks_disagree,
                         fmt::format("[{}] ranks disagree: {}", name_of(announced_[0].named()), *text));
  }
}

void SharedMemoryCommunicator::run(const Call& call, Timeout timeout) {
  meetings_.begin(call, timeout, calls_ + 1);
  compared_ = false;
  announce(call);
  try {
    switch (call.kind) {
      case Collective::all_reduce: all_reduce(call); break;
      case Collective::all_gather: all_gather(call); break;
      case Collective::reduce_scatter: reduce_scatter(call); break;
      case Collective::all_to_all: all_to_all(call); break;
      case Collective::broadcast: broadcast(call); break;
      case Collective::barrier:
      case Collective::split: synchronize(); break;
      default: throw InternalError("[communicator] send and recv are not collective");
    }
  } catch (const RuntimeFailure&) {
    ++calls_;
    throw;
  }
  ++calls_;
}

void SharedMemoryCommunicator::all_reduce(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(segment_.chunk_bytes()) / item,
                line = static_cast<int64_t>(kSegmentLine) / item;
  std::vector<const void*> sources(size());
  for (int64_t k = 0; k < chunks_of(call.count, per_chunk); ++k, next_chunk()) {
    const int64_t count = rest_of(call.count, per_chunk, k);
    std::byte* data = byte_of(call.recv, k * per_chunk * item);
    copy_bytes(chunk_buffer(rank_), data, count * item);
    synchronize();
    for (int r = 0; r < size(); ++r) sources[r] = chunk_buffer(r);
    void* result = data;
    if (!shares_reduction(size())) {
      reduce_elements(sources, {&result, 1}, 0, count, call.dtype, call.reduce);
      continue;
    }
    // Shares begin on cache lines, so that no two owners share one.
    const auto begin_of = [&](int64_t r) { return std::min(count, (count + line - 1) / line * r / size() * line); };
    result = chunk_buffer(rank_);
    reduce_elements(sources, {&result, 1}, begin_of(rank_), begin_of(rank_ + 1), call.dtype, call.reduce);
    synchronize();
    for (int r = 0; r < size(); ++r) {
      const int64_t begin = begin_of(r) * item, end = begin_of(r + 1) * item;
      copy_bytes(data + begin, chunk_buffer(r) + begin, end - begin);
    }
  }
}

void SharedMemoryCommunicator::all_gather(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(segment_.chunk_bytes()) / item;
  for (int64_t k = 0; k < chunks_of(largest_of(call.counts), per_chunk); ++k, next_chunk()) {
    const int64_t done = k * per_chunk * item;
    copy_bytes(chunk_buffer(rank_), byte_of(call.send, done), rest_of(call.counts[rank_], per_chunk, k) * item);
    synchronize();
    RankParts parts(byte_of(call.recv, done), call.counts, call.dtype);
    for (int r = 0; r < size(); ++r) {
      copy_bytes(parts(r).data, r == rank_ ? byte_of(call.send, done) : chunk_buffer(r),
                 rest_of(call.counts[r], per_chunk, k) * item);
    }
  }
}

void SharedMemoryCommunicator::put_parts(const Call& call, int64_t per_chunk, int64_t chunk) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  RankParts parts(byte_of(call.send, chunk * per_chunk * item), call.counts, call.dtype);
  for (int r = 0; r < size(); ++r) {
    copy_bytes(chunk_buffer(rank_) + r * per_chunk * item, parts(r).data,
               rest_of(call.counts[r], per_chunk, chunk) * item);
  }
}

void SharedMemoryCommunicator::reduce_scatter(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(segment_.chunk_bytes() / size() / kSegmentLine * kSegmentLine) / item;
  std::vector<const void*> sources(size());
  for (int64_t k = 0; k < chunks_of(largest_of(call.counts), per_chunk); ++k, next_chunk()) {
    put_parts(call, per_chunk, k);
    synchronize();
    for (int r = 0; r < size(); ++r) sources[r] = chunk_buffer(r) + rank_ * per_chunk * item;
    void* result = byte_of(call.recv, k * per_chunk * item);
    reduce_elements(sources, {&result, 1}, 0, rest_of(call.counts[rank_], per_chunk, k), call.dtype, call.reduce);
  }
}

void SharedMemoryCommunicator::all_to_all(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(segment_.chunk_bytes() / size() / kSegmentLine * kSegmentLine) / item;
  int64_t chunks = 1;  // all ranks know the number after the first meeting
  for (int64_t k = 0; k < chunks; ++k, next_chunk()) {
    put_parts(call, per_chunk, k);
    synchronize();
    for (int r = 0; r < size() && k == 0; ++r) {
      chunks = std::max(chunks, chunks_of(largest_of(announced(r).counts), per_chunk));
    }
    RankParts parts(byte_of(call.recv, k * per_chunk * item), call.recv_counts, call.dtype);
    for (int r = 0; r < size(); ++r) {
      copy_bytes(parts(r).data, chunk_buffer(r) + rank_ * per_chunk * item,
                 rest_of(call.recv_counts[r], per_chunk, k) * item);
    }
  }
}

void SharedMemoryCommunicator::broadcast(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(segment_.chunk_bytes()) / item;
  for (int64_t k = 0; k < chunks_of(call.count, per_chunk); ++k, next_chunk()) {
    std::byte* data = byte_of(call.recv, k * per_chunk * item);
    const int64_t bytes = rest_of(call.count, per_chunk, k) * item;
    if (rank_ == call.root) copy_bytes(chunk_buffer(rank_), data, bytes);
    synchronize();
    if (rank_ != call.root) copy_bytes(data, chunk_buffer(call.root), bytes);
  }
}

}  // namespace partita
