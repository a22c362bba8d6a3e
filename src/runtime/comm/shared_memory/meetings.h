#pragma once
// Where the ranks of a group that share a segment wait for each other.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/call.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/event_count.h"
#include "runtime/comm/shared_memory/layout.h"
#include "runtime/comm/shared_memory/presence.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// One rank's part in the meetings of a group. Either all ranks pass a meeting or none does: who waits too long, or for
/// a rank that has left or is gone, fails it, and with it the group, for all. One thread of a rank calls `begin` and
/// `meet`; `wake` may be called from any.
class Meetings {
 public:
  /// `presence` and `world` may be null; both outlive the object. What they are for: SharedMemoryCommunicator.
  Meetings(const SegmentLayout& segment, int rank, std::vector<int> world_ranks, int ranks_on_host,
           const Presence* presence, const WorldState* world);

  const std::vector<int>& world_ranks() const { return world_ranks_; }
  /// A call begins, which outlives its meetings; its `number`, from 1, is that of messages. Throws RuntimeFailure when
  /// a meeting or the world has failed.
  void begin(const Call& call, Timeout timeout, uint64_t number);
  /// Waits until all ranks have come as far. What a rank wrote before is visible to all after. Throws RuntimeFailure
  /// when this meeting failed.
  void meet();
  /// This rank comes to no further meeting: whoever waits for it, now or later, fails with ranks_disagree.
  void leave();
  void wake() noexcept { segment_.head().event.notify(); }

 private:
  /// Until it is over, or a rank has left or was ended.
  void await_close(uint64_t open);
  /// Fails the meeting, unless it closed or failed just now.
  void fail(uint64_t open, ExitCode code, const std::string& text);
  std::vector<int> missing() const;   // ranks of the world that have not come to this meeting
  std::vector<int> departed() const;  // ranks of the world that have left
  [[noreturn]] void throw_failure() const;
  void throw_if_world_failed() const;

  const SegmentLayout segment_;
  const int rank_;
  const std::vector<int> world_ranks_;
  const WaitPolicy policy_;
  const Presence* const presence_;
  const WorldState* const world_;
  uint64_t meetings_ = 0;  // to which this rank has come

  // Of the present call.
  const Call* call_ = nullptr;
  uint64_t number_ = 0;
  Timeout timeout_{};
  Deadline deadline_;
};

}  // namespace partita
