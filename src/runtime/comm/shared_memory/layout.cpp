#include "runtime/comm/shared_memory/layout.h"

#include <new>

namespace partita {
namespace {

size_t chunk_bytes_for(int ranks) { return static_cast<size_t>(shared_chunk_bytes(ranks)); }
size_t round_to_lines(size_t bytes) { return (bytes + kSegmentLine - 1) / kSegmentLine * kSegmentLine; }
/// Bytes of the lists of a rank, in whole lines: for two calls, two lists each with one number per rank.
size_t list_bytes_for(int ranks) { return round_to_lines(4 * sizeof(int64_t) * static_cast<size_t>(ranks)); }

}  // namespace

SegmentLayout::SegmentLayout(void* segment, int ranks)
    : segment_(static_cast<std::byte*>(segment)), ranks_(ranks), chunk_bytes_(chunk_bytes_for(ranks)) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "other atomics do not work between processes");
  PARTITA_CHECK(reinterpret_cast<uintptr_t>(segment) % kSegmentLine == 0, "the segment begins inside of a line");
}

size_t SegmentLayout::bytes(int ranks) {
  return sizeof(SegmentHead) +
         static_cast<size_t>(ranks) * (sizeof(RankState) + list_bytes_for(ranks) + 2 * chunk_bytes_for(ranks));
}

void SegmentLayout::prepare() const {
  new (segment_) SegmentHead;
  for (int r = 0; r < ranks_; ++r) new (segment_ + sizeof(SegmentHead) + r * sizeof(RankState)) RankState{};
}

SegmentHead& SegmentLayout::head() const { return *std::launder(reinterpret_cast<SegmentHead*>(segment_)); }

RankState& SegmentLayout::rank_state(int rank) const {
  return *std::launder(reinterpret_cast<RankState*>(segment_ + sizeof(SegmentHead) + rank * sizeof(RankState)));
}

int64_t* SegmentLayout::lists(int rank, uint64_t call) const {
  std::byte* all = segment_ + sizeof(SegmentHead) + ranks_ * sizeof(RankState) + rank * list_bytes_for(ranks_);
  return reinterpret_cast<int64_t*>(all) + 2 * (call % 2) * ranks_;
}

std::byte* SegmentLayout::chunk_buffer(int rank, uint64_t chunk) const {
  std::byte* buffers = segment_ + sizeof(SegmentHead) + ranks_ * (sizeof(RankState) + list_bytes_for(ranks_));
  return buffers + (2 * static_cast<size_t>(rank) + chunk % 2) * chunk_bytes_;
}

}  // namespace partita
