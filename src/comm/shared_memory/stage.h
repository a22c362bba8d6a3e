#pragma once
// The collectives of ranks that see one piece of memory, as processes of one host do. Buffers stay private: what others
// are to read is copied through the piece, a chunk at a time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/inproc/call.h"
#include "comm/inproc/event_count.h"

namespace partita {

/// One rank's view of the piece. A chunk goes through two slots of each rank in turn, so that ranks meet once per
/// chunk: whoever fills a slot again knows that all have left the chunk before the last. Larger groups meet a second
/// time in an all_reduce, since each rank then combines a share of the chunk for all.
///
/// Reductions add in group order. Ranks that call different things learn so in the first meeting, before data move.
class SharedStage {
 public:
  /// Of a piece for a group.
  static size_t bytes(int ranks);
  /// Makes the piece ready; once, before any rank uses it.
  static void prepare(void* piece, int ranks);
  /// `neighbours`: ranks on the host, which decide whether waiting may burn time.
  SharedStage(void* piece, int rank, std::vector<int> world_ranks, int neighbours);

  /// The collective `call` of this rank; all kinds but split, send and recv. Throws RuntimeFailure as
  /// comm/communicator.h says; after a time-out every further call does.
  void run(const Call& call, Timeout timeout);

 private:
  struct Announcement;
  struct Place;
  struct Head;

  int size() const { return static_cast<int>(world_ranks_.size()); }
  Place& place(int rank) const;
  std::byte* slot(int rank) const;  // of the present chunk

  void announce(const Call& call, int64_t largest);
  /// Waits until all ranks have come as far; the first meeting of a call compares what they announced.
  void meet();
  void compare() const;
  void next_chunk() { ++chunk_; }

  void all_reduce(const Call& call);
  void all_gather(const Call& call);
  void reduce_scatter(const Call& call);
  void all_to_all(const Call& call);
  void broadcast(const Call& call);

  std::byte* piece_;
  int rank_;
  std::vector<int> world_ranks_;
  WaitPolicy policy_;
  size_t slot_bytes_;
  uint64_t calls_ = 0, meetings_ = 0, chunk_ = 0;

  // Of the present call.
  const Call* call_ = nullptr;
  Timeout timeout_{};
  Deadline deadline_;
  bool compared_ = false, failed_ = false;
};

}  // namespace partita
