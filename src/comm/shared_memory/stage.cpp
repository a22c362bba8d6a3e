#include "comm/shared_memory/stage.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"
#include "comm/inproc/reduce_kernels.h"

namespace partita {
namespace {

constexpr size_t kLine = 128;
// Small enough to stay in the caches, large enough that a meeting costs little beside it.
constexpr size_t kMostSlotBytes = 256 * 1024, kFewestSlotBytes = 32 * 1024, kAllSlotBytes = 1024 * 1024;
constexpr int kMostDirect = 2;  // ranks that each combine a whole chunk, and meet once

size_t slot_bytes_for(int ranks) {
  const size_t fewest = std::max(kFewestSlotBytes, static_cast<size_t>(ranks) * 8 * kLine);
  return std::max(fewest, std::min(kMostSlotBytes, kAllSlotBytes / static_cast<size_t>(ranks) / kLine * kLine));
}

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

uint64_t hash_of(std::span<const int64_t> counts) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const int64_t count : counts) hash = (hash ^ static_cast<uint64_t>(count)) * 1099511628211u;
  return hash;
}

}  // namespace

/// A call in words that mean the same in every process.
struct SharedStage::Announcement {
  Call::Kind kind;
  DType dtype;
  Reduce reduce;
  int root;
  int64_t count, largest;
  uint64_t counts_hash;

  /// Ranks of an all_to_all give and take what they like.
  bool fits(const Announcement& other) const {
    if (kind != other.kind || dtype != other.dtype) return false;
    return kind == Call::Kind::all_to_all ||
           (reduce == other.reduce && root == other.root && count == other.count && counts_hash == other.counts_hash);
  }
  Call call() const { return {.kind = kind, .dtype = dtype, .reduce = reduce, .root = root, .count = count}; }
};

struct alignas(kLine) SharedStage::Place {
  std::atomic<uint64_t> meetings{0};
  Announcement announced[2];  // of even and odd calls: a slow rank may still read that of the last call
};

struct alignas(kLine) SharedStage::Head {
  EventCount event{EventCount::Scope::host};
};

size_t SharedStage::bytes(int ranks) {
  return sizeof(Head) + static_cast<size_t>(ranks) * (sizeof(Place) + 2 * slot_bytes_for(ranks)) + kLine;
}

namespace {

std::byte* aligned(void* piece) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(piece) + kLine - 1) / kLine * kLine);
}

}  // namespace

void SharedStage::prepare(void* piece, int ranks) {
  std::byte* start = aligned(piece);
  new (start) Head;
  for (int r = 0; r < ranks; ++r) new (start + sizeof(Head) + r * sizeof(Place)) Place{};
}

SharedStage::SharedStage(void* piece, int rank, std::vector<int> world_ranks, int neighbours)
    : piece_(aligned(piece)),
      rank_(rank),
      world_ranks_(std::move(world_ranks)),
      policy_(wait_policy(neighbours)),
      slot_bytes_(slot_bytes_for(size())) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "other atomics do not work between processes");
}

SharedStage::Place& SharedStage::place(int rank) const {
  return *std::launder(reinterpret_cast<Place*>(piece_ + sizeof(Head) + rank * sizeof(Place)));
}

std::byte* SharedStage::slot(int rank) const {
  std::byte* slots = piece_ + sizeof(Head) + size() * sizeof(Place);
  return slots + (2 * static_cast<size_t>(rank) + chunk_ % 2) * slot_bytes_;
}

void SharedStage::announce(const Call& call, int64_t largest) {
  place(rank_).announced[calls_ % 2] = {call.kind,  call.dtype, call.reduce,         call.root,
                                        call.count, largest,    hash_of(call.counts)};
}

void SharedStage::meet() {
  auto& event = std::launder(reinterpret_cast<Head*>(piece_))->event;
  place(rank_).meetings.store(++meetings_);
  event.notify();
  int next = 0;
  const auto all_came = [&] {
    while (next < size() && place(next).meetings.load() >= meetings_) ++next;
    return next == size();
  };
  if (!event.wait(all_came, deadline_, policy_)) {
    failed_ = true;
    std::vector<int> missing;
    for (int r = 0; r < size(); ++r) {
      if (place(r).meetings.load() < meetings_) missing.push_back(world_ranks_[r]);
    }
    const std::string data = describe_data(*call_);
    throw RuntimeFailure(ExitCode::peer_stalled,
                         fmt::format("[{}] timed out after {:.1f} s at call {}{}: waiting for rank{} {} of group ({})",
                                     name_of(call_->kind), std::chrono::duration<double>(timeout_).count(), calls_ + 1,
                                     data.empty() ? "" : " (" + data + ")", missing.size() == 1 ? "" : "s",
                                     listed(missing, ", "), listed(world_ranks_, ",")));
  }
  if (!compared_) compare();
  compared_ = true;
}

void SharedStage::compare() const {
  const Announcement& first = place(0).announced[calls_ % 2];
  for (int r = 1; r < size(); ++r) {
    const Announcement& other = place(r).announced[calls_ % 2];
    if (first.fits(other)) continue;
    throw RuntimeFailure(
        ExitCode::ranks_disagree,
        fmt::format("[{}] ranks disagree: rank {} calls {}, rank {} calls {}", name_of(first.kind), world_ranks_[0],
                    describe(first.call(), world_ranks_), world_ranks_[r], describe(other.call(), world_ranks_)));
  }
}

void SharedStage::run(const Call& call, Timeout timeout) {
  if (failed_) {
    throw RuntimeFailure(ExitCode::peer_stalled, fmt::format("[{}] the group ({}) has failed before",
                                                             name_of(call.kind), listed(world_ranks_, ",")));
  }
  constexpr Timeout kLongest = std::chrono::hours(24 * 365);
  call_ = &call;
  timeout_ = timeout;
  deadline_ = std::chrono::steady_clock::now() + std::clamp(timeout, Timeout::zero(), kLongest);
  compared_ = false;
  try {
    switch (call.kind) {
      case Call::Kind::all_reduce: all_reduce(call); break;
      case Call::Kind::all_gather: all_gather(call); break;
      case Call::Kind::reduce_scatter: reduce_scatter(call); break;
      case Call::Kind::all_to_all: all_to_all(call); break;
      case Call::Kind::broadcast: broadcast(call); break;
      case Call::Kind::barrier:
        announce(call, 0);
        meet();
        break;
      default: throw InternalError("[stage] split, send and recv are not collective data movement");
    }
  } catch (const RuntimeFailure&) {
    ++calls_;
    throw;
  }
  ++calls_;
}

void SharedStage::all_reduce(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(slot_bytes_) / item, line = static_cast<int64_t>(kLine) / item;
  announce(call, call.count);
  std::vector<const void*> sources(size());
  for (int64_t k = 0; k < chunks_of(call.count, per_chunk); ++k, next_chunk()) {
    const int64_t count = rest_of(call.count, per_chunk, k);
    std::byte* data = at(call.recv, k * per_chunk * item);
    copy_bytes(slot(rank_), data, count * item);
    meet();
    for (int r = 0; r < size(); ++r) sources[r] = slot(r);
    void* result = data;
    if (size() <= kMostDirect) {
      reduce_elements(sources, {&result, 1}, 0, count, call.dtype, call.reduce);
      continue;
    }
    // Shares begin on cache lines, so that owners do not share one.
    const auto begin_of = [&](int64_t r) { return std::min(count, (count + line - 1) / line * r / size() * line); };
    result = slot(rank_);
    reduce_elements(sources, {&result, 1}, begin_of(rank_), begin_of(rank_ + 1), call.dtype, call.reduce);
    meet();
    for (int r = 0; r < size(); ++r) {
      const int64_t begin = begin_of(r) * item, end = begin_of(r + 1) * item;
      copy_bytes(data + begin, slot(r) + begin, end - begin);
    }
  }
}

void SharedStage::all_gather(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(slot_bytes_) / item;
  announce(call, largest_of(call.counts));
  for (int64_t k = 0; k < chunks_of(largest_of(call.counts), per_chunk); ++k, next_chunk()) {
    const int64_t done = k * per_chunk * item;
    copy_bytes(slot(rank_), at(call.send, done), rest_of(call.counts[rank_], per_chunk, k) * item);
    meet();
    int64_t offset = done;
    for (int r = 0; r < size(); ++r) {
      const int64_t bytes = rest_of(call.counts[r], per_chunk, k) * item;
      copy_bytes(at(call.recv, offset), r == rank_ ? at(call.send, done) : slot(r), bytes);
      offset += call.counts[r] * item;
    }
  }
}

void SharedStage::reduce_scatter(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(slot_bytes_ / size() / kLine * kLine) / item;
  announce(call, largest_of(call.counts));
  std::vector<const void*> sources(size());
  for (int64_t k = 0; k < chunks_of(largest_of(call.counts), per_chunk); ++k, next_chunk()) {
    int64_t offset = k * per_chunk * item;
    for (int r = 0; r < size(); ++r) {
      copy_bytes(slot(rank_) + r * per_chunk * item, at(call.send, offset),
                 rest_of(call.counts[r], per_chunk, k) * item);
      offset += call.counts[r] * item;
    }
    meet();
    for (int r = 0; r < size(); ++r) sources[r] = slot(r) + rank_ * per_chunk * item;
    void* result = at(call.recv, k * per_chunk * item);
    reduce_elements(sources, {&result, 1}, 0, rest_of(call.counts[rank_], per_chunk, k), call.dtype, call.reduce);
  }
}

void SharedStage::all_to_all(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(slot_bytes_ / size() / kLine * kLine) / item;
  announce(call, largest_of(call.counts));
  int64_t chunks = 1;  // known to all once they have met
  for (int64_t k = 0; k < chunks; ++k, next_chunk()) {
    int64_t offset = k * per_chunk * item;
    for (int r = 0; r < size(); ++r) {
      copy_bytes(slot(rank_) + r * per_chunk * item, at(call.send, offset),
                 rest_of(call.counts[r], per_chunk, k) * item);
      offset += call.counts[r] * item;
    }
    meet();
    for (int r = 0; r < size() && k == 0; ++r) {
      chunks = std::max(chunks, chunks_of(place(r).announced[calls_ % 2].largest, per_chunk));
    }
    offset = k * per_chunk * item;
    for (int r = 0; r < size(); ++r) {
      copy_bytes(at(call.recv, offset), slot(r) + rank_ * per_chunk * item,
                 rest_of(call.recv_counts[r], per_chunk, k) * item);
      offset += call.recv_counts[r] * item;
    }
  }
}

void SharedStage::broadcast(const Call& call) {
  const auto item = static_cast<int64_t>(size_of(call.dtype));
  const int64_t per_chunk = static_cast<int64_t>(slot_bytes_) / item;
  announce(call, call.count);
  for (int64_t k = 0; k < chunks_of(call.count, per_chunk); ++k, next_chunk()) {
    std::byte* data = at(call.recv, k * per_chunk * item);
    const int64_t bytes = rest_of(call.count, per_chunk, k) * item;
    if (rank_ == call.root) copy_bytes(slot(rank_), data, bytes);
    meet();
    if (rank_ != call.root) copy_bytes(data, slot(call.root), bytes);
  }
}

}  // namespace partita
