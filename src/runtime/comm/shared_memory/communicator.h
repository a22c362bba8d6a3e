#pragma once
// The collectives of ranks that see one segment of memory, as processes of one host do. Buffers stay private: what
// others are to read is copied through the segment, a chunk at a time.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/comm/call.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/shared_memory/layout.h"
#include "runtime/comm/shared_memory/meetings.h"
#include "runtime/comm/shared_memory/presence.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// One rank's view of the segment. A chunk goes through two chunk buffers of each rank in turn, so that ranks meet once
/// per chunk: whoever fills one again knows that all have left the chunk before the last. Larger groups meet a second
/// time in an all_reduce, since each rank then combines a share of the chunk for all.
///
/// Reductions add in group order. Ranks that call different things learn so in the first meeting, before data move.
/// What fails a meeting, and with it the group, for all ranks: Meetings.
class SharedMemoryCommunicator final : public Wakeable {
 public:
  /// Ranks of a group that a segment is for; its size grows with their square.
  static constexpr int kMaxRanks = 64;
  /// Of a segment for a group.
  static size_t bytes(int ranks) { return SegmentLayout::bytes(ranks); }
  /// Makes the segment ready, which begins at a multiple of 128 bytes in every process; once, before any rank uses it.
  static void prepare(void* segment, int ranks);
  /// `ranks_on_host` decides whether a rank that waits may spin. `presence`, in which every rank
  /// has entered as its rank of the world, shows which ranks have ended; without it they are
  /// waited for until the time is over, or `world`, if any, has failed. Both outlive the object.
  SharedMemoryCommunicator(void* segment, int rank, std::vector<int> world_ranks, int ranks_on_host,
                           const Presence* presence = nullptr, const WorldState* world = nullptr);

  /// The collective `call` of this rank; all kinds but send and recv. A split compares who is in which group. Throws
  /// RuntimeFailure as runtime/comm/communicator.h says; after a time-out every further call of any rank does.
  void run(const Call& call, Timeout timeout);

  /// This rank makes no further call: whoever waits for one, now or later, fails with ranks_disagree.
  void leave() { meetings_.leave(); }

  void wake() noexcept override { meetings_.wake(); }

 private:
  int size() const { return segment_.ranks(); }
  /// The buffer of a rank for the present chunk.
  std::byte* chunk_buffer(int rank) const { return segment_.chunk_buffer(rank, chunk_); }

  void announce(const Call& call);
  Call announced(int rank);  // its spans are those of the segment
  /// Waits until all ranks have come as far; the first meeting of a call compares what they announced.
  void synchronize();
  void compare();
  void next_chunk() { ++chunk_; }
  /// Puts a chunk of what this rank sends to each rank into its chunk buffer, one after the other.
  void put_parts(const Call& call, int64_t per_chunk, int64_t chunk);

  void all_reduce(const Call& call);
  void all_gather(const Call& call);
  void reduce_scatter(const Call& call);
  void all_to_all(const Call& call);
  void broadcast(const Call& call);

  const SegmentLayout segment_;
  const int rank_;
  Meetings meetings_;
  uint64_t calls_ = 0, chunk_ = 0;
  bool compared_ = false;                  // the announcements of the present call
  std::vector<std::vector<int>> members_;  // of a split, per rank
  std::vector<Call> announced_;            // per rank; kept, so that calls allocate nothing
};

}  // namespace partita
