#pragma once
// The meetings at which ranks that share a segment wait for each other.

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

/// One rank's part in the meetings of a group. Either all ranks pass a meeting or none does. A rank that waits too
/// long, or for a rank that has left or ended, fails the meeting, and with it the group, for all. One thread of a rank
/// calls `begin` and `meet`; any thread may call `wake`.
class Meetings {
 public:
  /// `policy` says how a rank waits for others. `presence` shows which ranks have ended, `world` whether the world has
  /// failed; each may be null and outlives this object.
  Meetings(const SegmentLayout& segment, int rank, std::vector<int> world_ranks, const WaitPolicy& policy,
           const Presence* presence, const WorldState* world);

  const std::vector<int>& world_ranks() const { return world_ranks_; }
  /// Begins a call, which stays valid during its meetings; they fail `timeout` from now. `number` counts calls from 1,
  /// for messages. Throws RuntimeFailure if a meeting or the world has failed.
  void begin(const Call& call, Timeout timeout, uint64_t number);
  /// Waits until all ranks have arrived. What a rank wrote before is visible to all ranks afterwards. Throws
  /// RuntimeFailure if this meeting or the world failed: peer_stalled after the timeout, peer_lost if a rank has ended,
  /// ranks_disagree if one has left, else the code of the world's failure.
  void meet();
  /// Declares that this rank attends no further meeting. Ranks that wait for it, now or later, fail with
  /// ranks_disagree.
  void leave();
  void wake() noexcept { segment_.head().event.notify(); }

 private:
  /// Waits until the meeting closes or fails; `open` is the segment's state while it is open. Fails it if a rank has
  /// left or ended, or the time is over. Throws RuntimeFailure if the world has failed.
  void await_close(uint64_t open);
  /// Fails the meeting that is open in state `open` for all ranks, with this error, unless it has just closed or
  /// failed.
  void fail(uint64_t open, ExitCode code, const std::string& text);
  std::vector<int> missing() const;   // world ranks that have not arrived at this meeting
  std::vector<int> departed() const;  // world ranks that have left
  [[noreturn]] void throw_failure() const;
  void throw_if_world_failed() const;

  const SegmentLayout segment_;
  const int rank_;
  const std::vector<int> world_ranks_;
  const WaitPolicy policy_;
  const Presence* const presence_;
  const WorldState* const world_;
  uint64_t meetings_ = 0;  // number of meetings at which this rank has arrived

  // State of the current call.
  const Call* call_ = nullptr;
  uint64_t number_ = 0;
  Timeout timeout_{};
  Deadline deadline_;
};

}  // namespace partita
