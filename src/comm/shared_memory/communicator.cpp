#include "comm/shared_memory/communicator.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"
#include "comm/reduce_kernels.h"

namespace partita {
namespace {

constexpr size_t kLine = 128;
// A chunk is small enough to stay in the caches, and so large that its copies cost much more than a meeting.
constexpr size_t kMostChunkBytes = 256 * 1024;
constexpr size_t kAllChunkBytes = 4 * 1024 * 1024;                 // two for each rank
constexpr Timeout kLookInterval = std::chrono::milliseconds(200);  // between two looks whether a rank has gone
constexpr Timeout kFailureTextTimeout = std::chrono::seconds(10);
constexpr int kMostDirect = 2;  // ranks that each combine a whole chunk, and meet once

size_t chunk_bytes_for(int ranks) {
  return std::min(kMostChunkBytes, kAllChunkBytes / (2 * static_cast<size_t>(ranks)) / kLine * kLine);
}

size_t round_to_lines(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
/// Two calls with two lists of a number for each rank.
size_t list_bytes_for(int ranks) { return round_to_lines(4 * sizeof(int64_t) * static_cast<size_t>(ranks)); }

/// A buffer without elements may be null.
const std::byte* at(const void* data, int64_t byte) {
  return data == nullptr ? nullptr : static_cast<const std::byte*>(data) + byte;
}
std::byte* at(void* data, int64_t byte) { return data == nullptr ? nullptr : static_cast<std::byte*>(data) + byte; }

void copy_bytes(void* target, const void* source, int64_t bytes) {
  if (bytes > 0 && target != source) std::memcpy(target, source, bytes);
}

int64_t chunks_of(int64_t elements, int64_t per_chunk) {
  return std::max<int64_t>(1, (elements + per_chunk - 1) / per_chunk);
}

/// How much of a whole is in chunk `index`.
int64_t rest_of(int64_t elements, int64_t per_chunk, int64_t index) {
  return std::clamp<int64_t>(elements - index * per_chunk, 0, per_chunk);
}

int64_t largest_of(std::span<const int64_t> counts) {
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

}  // namespace

/// A call without pointers, which other processes can read; the lists of its counts, or members, lie elsewhere.
struct SharedMemoryCommunicator::Announcement {
  Collective kind = Collective::barrier, named = Collective::barrier;
  DType dtype = DType::u8;
  Reduce reduce = Reduce::none;
  int root = -1;
  int64_t count = 0;
  int64_t listed = 0, received = 0;  // lengths of the lists
};

struct alignas(kLine) SharedMemoryCommunicator::RankState {
  std::atomic<uint64_t> meetings{0};  // to which the rank has come, for messages
  std::atomic<bool> left{false};
  Announcement announced[2];  // of even and odd calls: a slow rank may still read that of the last call
};

/// The state is twice the number of meetings that all passed, and one more when the present one failed.
struct alignas(kLine) SharedMemoryCommunicator::Head {
  EventCount event{EventCount::Scope::host};
  alignas(kLine) std::atomic<uint64_t> state{0};
  alignas(kLine) std::atomic<uint64_t> arrivals{0};  // at all meetings so far
  std::atomic<int> left{0};                          // ranks
  std::atomic<bool> explained{false};                // `failure` and its code are complete
  ExitCode code = ExitCode::peer_stalled;
  char failure[512] = "";
};

size_t SharedMemoryCommunicator::bytes(int ranks) {
  return sizeof(Head) +
         static_cast<size_t>(ranks) * (sizeof(RankState) + list_bytes_for(ranks) + 2 * chunk_bytes_for(ranks));
}

void SharedMemoryCommunicator::prepare(void* segment, int ranks) {
  auto* start = static_cast<std::byte*>(segment);
  new (start) Head;
  for (int r = 0; r < ranks; ++r) new (start + sizeof(Head) + r * sizeof(RankState)) RankState{};
}

SharedMemoryCommunicator::SharedMemoryCommunicator(void* segment, int rank, std::vector<int> world_ranks,
                                                   int ranks_on_host, const Presence* presence, const WorldState* world)
    : segment_(static_cast<std::byte*>(segment)),
      rank_(rank),
      world_ranks_(std::move(world_ranks)),
      policy_(wait_policy(ranks_on_host)),
      presence_(presence),
      world_(world),
      chunk_bytes_(chunk_bytes_for(size())),
      members_(world_ranks_.size()) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "other atomics do not work between processes");
  PARTITA_CHECK(reinterpret_cast<uintptr_t>(segment) % kLine == 0, "the segment begins inside of a line");
  PARTITA_CHECK(size() <= kMostRanks, "{} ranks", size());
}

SharedMemoryCommunicator::Head& SharedMemoryCommunicator::head() const {
  return *std::launder(reinterpret_cast<Head*>(segment_));
}

SharedMemoryCommunicator::RankState& SharedMemoryCommunicator::rank_state(int rank) const {
  return *std::launder(reinterpret_cast<RankState*>(segment_ + sizeof(Head) + rank * sizeof(RankState)));
}

int64_t* SharedMemoryCommunicator::lists(int rank) const {
  std::byte* all = segment_ + sizeof(Head) + size() * sizeof(RankState) + rank * list_bytes_for(size());
  return reinterpret_cast<int64_t*>(all) + 2 * (calls_ % 2) * size();
}

std::byte* SharedMemoryCommunicator::chunk_buffer(int rank) const {
  std::byte* buffers = segment_ + sizeof(Head) + size() * (sizeof(RankState) + list_bytes_for(size()));
  return buffers + (2 * static_cast<size_t>(rank) + chunk_ % 2) * chunk_bytes_;
}

void SharedMemoryCommunicator::announce(const Call& call) {
  const size_t listed = call.kind == Collective::split ? call.members.size() : call.counts.size();
  rank_state(rank_).announced[calls_ % 2] = {call.kind,
                                             call.named(),
                                             call.dtype,
                                             call.reduce,
                                             call.root,
                                             call.count,
                                             static_cast<int64_t>(listed),
                                             static_cast<int64_t>(call.recv_counts.size())};
  int64_t* list = lists(rank_);
  if (call.kind == Collective::split) {
    std::copy(call.members.begin(), call.members.end(), list);
  } else {
    std::copy(call.counts.begin(), call.counts.end(), list);
  }
  std::copy(call.recv_counts.begin(), call.recv_counts.end(), list + size());
}

Call SharedMemoryCommunicator::announced(int rank) {
  const Announcement& announcement = rank_state(rank).announced[calls_ % 2];
  const int64_t* list = lists(rank);
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
  Head& shared = head();
  const uint64_t open = 2 * meetings_++;
  rank_state(rank_).meetings.store(meetings_);
  if (shared.arrivals.fetch_add(1) + 1 == meetings_ * static_cast<uint64_t>(size())) {
    uint64_t expected = open;
    shared.state.compare_exchange_strong(expected, open + 2);
    shared.event.notify();
  }
  await_close(open);
  // Ranks that have passed may be a meeting ahead, and fail that one.
  if (shared.state.load() == open + 1) throw_failure();
  if (!compared_) compare();
  compared_ = true;
}

void SharedMemoryCommunicator::await_close(uint64_t open) {
  Head& shared = head();
  // A rank leaves after its last meeting: one that is still open then misses it.
  const auto is_over = [&] {
    const bool has_left = shared.left.load() > 0;
    return shared.state.load() != open || has_left || (world_ != nullptr && world_->is_aborted());
  };
  while (true) {
    const Deadline next = std::min(deadline_, presence_ == nullptr ? deadline_ : deadline_after(kLookInterval));
    if (shared.event.wait(is_over, next, policy_)) {
      if (shared.state.load() != open) return;
      throw_if_world_failed();
      return fail(open, ExitCode::ranks_disagree, left_behind(*call_, rank_, departed(), world_ranks_));
    }
    // A rank that ends well leaves first: whoever is gone while a meeting is open was ended.
    const auto gone = std::find_if(world_ranks_.begin(), world_ranks_.end(),
                                   [&](int rank) { return presence_ != nullptr && presence_->is_gone(rank); });
    if (gone != world_ranks_.end()) {
      return fail(open, ExitCode::peer_lost, lost(*call_, ended(*gone), world_ranks_, calls_ + 1));
    }
    if (next == deadline_) {
      return fail(open, ExitCode::peer_stalled, timed_out(*call_, timeout_, missing(), world_ranks_, calls_ + 1));
    }
  }
}

void SharedMemoryCommunicator::throw_if_world_failed() const {
  if (world_ != nullptr) world_->throw_if_aborted(*call_, world_ranks_, calls_ + 1);
}

void SharedMemoryCommunicator::wake() noexcept { head().event.notify(); }

std::vector<int> SharedMemoryCommunicator::missing() const {
  std::vector<int> missing;
  for (int r = 0; r < size(); ++r) {
    if (rank_state(r).meetings.load() < meetings_) missing.push_back(world_ranks_[r]);
  }
  return missing;
}

std::vector<int> SharedMemoryCommunicator::departed() const {
  std::vector<int> departed;
  for (int r = 0; r < size(); ++r) {
    if (rank_state(r).left.load()) departed.push_back(world_ranks_[r]);
  }
  return departed;
}

void SharedMemoryCommunicator::fail(uint64_t open, ExitCode code, const std::string& text) {
  Head& shared = head();
  uint64_t expected = open;
  if (!shared.state.compare_exchange_strong(expected, open + 1)) return;
  text.copy(shared.failure, sizeof shared.failure - 1);
  shared.code = code;
  shared.explained.store(true);
  shared.event.notify();
}

void SharedMemoryCommunicator::throw_failure() const {
  Head& shared = head();
  // Whoever failed the meeting writes why in a moment, unless it was ended before.
  if (shared.event.wait([&] { return shared.explained.load(); }, deadline_after(kFailureTextTimeout), policy_)) {
    throw RuntimeFailure(shared.code, shared.failure);
  }
  throw RuntimeFailure(ExitCode::peer_lost,
                       fmt::format("[communicator] a rank of group ({}) was lost while it failed a call for all",
                                   listed(world_ranks_, ",")));
}

void SharedMemoryCommunicator::leave() {
  rank_state(rank_).left.store(true);
  head().left.fetch_add(1);
  head().event.notify();
}

void SharedMemoryCommunicator::compare() {
  announced_.clear();
  for (int r = 0; r < size(); ++r) announced_.push_back(announced(r));
  if (const auto text = disagreement([&](int r) -> const Call& { return announced_[r]; }, world_ranks_)) {
    throw RuntimeFailure(ExitCode::ranks_disagree,
                         fmt::format("[{}] ranks disagree: {}", name_of(announced_[0].named()), *text));
  }
}

void SharedMemoryCommunicator::run(const Call& call, Timeout timeout) {
  if (head().state.load() % 2 == 1) throw_failure();
  call_ = &call;
  timeout_ = timeout;
  deadline_ = deadline_after(timeout);
  compared_ = false;
  throw_if_world_failed();
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
  const int64_t per_chunk = static_cast<int64_t>(chunk_bytes_) / item, line = static_cast<int64_t>(kLine) / item;
  std::vector<const void*> sources(size());
  for (int64_t k = 0; k < chunks_of(call.count, per_chunk); ++k, next_chunk()) {
    const int64_t count = rest_of(call.count, per_chunk, k);
    std::byte* data = at(call.recv, k * per_chunk * item);
    copy_bytes(chunk_buffer(rank_), data, count * item);
    synchronize();
    for (int r = 0; r < size(); ++r) sources[r] = chunk_buffer(r);
    void* result = data;
    if (size() <= kMostDirect) {
      reduce_elements(sources, {&result, 1}, 0, count, call.dtype, call.reduce);
      continue;
    }
    // Shares begin on cache lines, so that owners do not share one.
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
  const int64_t per_chunk = static_cast<int64_t>(chunk_bytes_) / item;
  for (int64_t k = 0; k < chunks_of(largest_of(call.counts), per_chunk); ++k, next_chunk()) {
    const int64_t done = k * per_chunk * item;
    copy_bytes(chunk_buffer(rank_), at(call.send, done), rest_of(call.counts[rank_], per_chunk, k) * item);
    synchronize();
    int64_t offset = done;
    for (int r = 0; r < size(); ++r) {
      const int64_t bytes = rest_of(call.counts[r], per_chunk, k) * item;
      copy_bytes(at(call.recv, offset), r == rank_ ? at(call.send, done) : chunk_buffer(r), bytes);
      offset += call.counts[r] * item;
    }
  }
}

void SharedMemoryCommunicator::put_parts(const Call& call, int64_t per_chunk, int64_t chunk) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  int64_t offset = chunk * per_chunk * item;
  for (int r = 0; r < size(); ++r) {
    copy_bytes(chunk_buffer(rank_) + r * per_chunk * item, at(call.send, offset),
               rest_of(call.counts[r], per_chunk, chunk) * item);
    offset += call.counts[r] * item;
  }
}

void SharedMemoryCommunicator::reduce_scatter(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(chunk_bytes_ / size() / kLine * kLine) / item;
  std::vector<const void*> sources(size());
  for (int64_t k = 0; k < chunks_of(largest_of(call.counts), per_chunk); ++k, next_chunk()) {
    put_parts(call, per_chunk, k);
    synchronize();
    for (int r = 0; r < size(); ++r) sources[r] = chunk_buffer(r) + rank_ * per_chunk * item;
    void* result = at(call.recv, k * per_chunk * item);
    reduce_elements(sources, {&result, 1}, 0, rest_of(call.counts[rank_], per_chunk, k), call.dtype, call.reduce);
  }
}

void SharedMemoryCommunicator::all_to_all(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(chunk_bytes_ / size() / kLine * kLine) / item;
  int64_t chunks = 1;  // known to all once they have met
  for (int64_t k = 0; k < chunks; ++k, next_chunk()) {
    put_parts(call, per_chunk, k);
    synchronize();
    for (int r = 0; r < size() && k == 0; ++r) {
      chunks = std::max(chunks, chunks_of(largest_of(announced(r).counts), per_chunk));
    }
    int64_t offset = k * per_chunk * item;
    for (int r = 0; r < size(); ++r) {
      copy_bytes(at(call.recv, offset), chunk_buffer(r) + rank_ * per_chunk * item,
                 rest_of(call.recv_counts[r], per_chunk, k) * item);
      offset += call.recv_counts[r] * item;
    }
  }
}

void SharedMemoryCommunicator::broadcast(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(chunk_bytes_) / item;
  for (int64_t k = 0; k < chunks_of(call.count, per_chunk); ++k, next_chunk()) {
    std::byte* data = at(call.recv, k * per_chunk * item);
    const int64_t bytes = rest_of(call.count, per_chunk, k) * item;
    if (rank_ == call.root) copy_bytes(chunk_buffer(rank_), data, bytes);
    synchronize();
    if (rank_ != call.root) copy_bytes(data, chunk_buffer(call.root), bytes);
  }
}

}  // namespace partita
