#pragma once
// Collectives of ranks that share a memory segment, as processes of one host do. Buffers stay private: data for others
// is copied through the segment, a chunk at a time.

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

/// One rank's view of the segment. Each rank alternates between two chunk buffers, so that ranks meet once per chunk: a
/// rank that fills a buffer again knows that all ranks have finished the chunk before the last. Groups of more than two
/// ranks meet a second time per chunk in an all_reduce, since each rank then combines a share of the chunk for all.
///
/// Reductions combine contributions in group order. Ranks that make different calls detect it in the first meeting,
/// before data moves. Meetings says what fails a meeting, and with it the group, for all ranks.
class SharedMemoryCommunicator final : public Wakeable {
 public:
  /// Maximum number of ranks in a group; the size of a segment grows with the square of the ranks.
  static constexpr int kMaxRanks = kMaxSharedRanks;
  /// Returns the bytes of a segment for a group of this many ranks.
  static size_t bytes(int ranks) { return SegmentLayout::bytes(ranks); }
  /// Initializes a segment. It begins at a multiple of 128 bytes in every process. Call it once, before any rank uses
  /// the segment.
  static void prepare(void* segment, int ranks);
  /// `policy` says how a rank waits for others. `presence`, in which every rank has entered with its world rank, shows
  /// which ranks have ended. Without it they are waited for until the timeout, or until `world`, if any, has failed.
  /// Both outlive this object. Throws InternalError for more than kMaxRanks ranks.
  SharedMemoryCommunicator(void* segment, int rank, std::vector<int> world_ranks, const WaitPolicy& policy,
                           const Presence* presence = nullptr, const WorldState* world = nullptr);

  /// Runs the collective `call` of this rank: any kind but send, recv and leave, for which it throws InternalError. A
  /// split compares the members of the groups. Throws RankFailures. After a timeout every further call of any rank
  /// fails.
  void run(const Call& call, Timeout timeout);

  /// Declares that this rank makes no further call. Ranks that wait for one, now or later, fail with ranks_disagree.
  void leave() { meetings_.leave(); }

  void wake() noexcept override { meetings_.wake(); }

 private:
  int size() const { return segment_.ranks(); }
  /// The buffer of a rank for the current chunk.
  std::byte* chunk_buffer(int rank) const { return segment_.chunk_buffer(rank, chunk_); }

  void announce(const Call& call);
  Call announced(int rank);  // spans refer to the segment
  /// Waits until all ranks have arrived. The first meeting of a call compares what the ranks announced. Throws
  /// RuntimeFailure: peer_stalled after the timeout, peer_lost if a rank has ended, ranks_disagree if one has left or
  /// the calls do not fit, else the code of the world's failure.
  void synchronize();
  void compare();
  void next_chunk() { ++chunk_; }
  /// Copies chunk number `chunk` of what this rank sends to each rank into this rank's chunk buffer. A chunk has at
  /// most `per_chunk` elements, and the one for rank r begins at element r * per_chunk.
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
  bool compared_ = false;                  // whether the announcements of the current call were compared
  std::vector<std::vector<int>> members_;  // members of a split, per rank
  std::vector<Call> announced_;            // per rank; kept between calls, so that calls allocate nothing
};

}  // namespace partita
