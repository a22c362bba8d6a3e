#pragma once
// The messages of one call of a group: starts, awaits, checks and withdraws them.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>

#include "runtime/comm/call.h"
#include "runtime/comm/carrier.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/event_count.h"
#include "runtime/comm/rank_parts.h"
#include "runtime/comm/world_state.h"

namespace partita {

inline int64_t item_bytes(const Call& call) { return static_cast<int64_t>(size_of(call.dtype)); }

/// The messages of the current call of a rank. One thread uses it at a time. Messages longer than the carrier's limit
/// are split. When a call fails, its receives are withdrawn. After a failed collective or a lost message every further
/// `run` fails, since the messages of ranks no longer match.
class CallMessages {
 public:
  enum Tag : int { point_to_point = 1, collective = 2 };

  /// The first three arguments outlive this object. `is_gone` returns whether a rank of the world has ended; false if
  /// that cannot be detected.
  CallMessages(Carrier& carrier, std::span<const int> world_ranks, const WorldState& world,
               std::function<bool(int rank)> is_gone);
  CallMessages(const CallMessages&) = delete;
  CallMessages& operator=(const CallMessages&) = delete;

  int rank() const { return carrier_.rank(); }
  int size() const { return carrier_.size(); }
  std::span<const int> world_ranks() const { return world_ranks_; }

  /// Runs `body` as `call`, which the caller keeps valid until the return. The waits of `body` end `timeout` after the
  /// begin. If `body` throws, withdraws the messages that it started and rethrows. Every further `run` and `post` then
  /// fails if it was a call of all ranks (`for_all`), or if one of these messages was a send or had begun to arrive.
  /// Throws RuntimeFailure if the world has failed (with its code), or after such a failure of an earlier call
  /// (peer_stalled).
  template <class Body>
  void run(const Call& call, Timeout timeout, bool for_all, Body body) {
    begin(call, timeout);
    try {
      body();
    } catch (...) {
      failed_ = failed_ || for_all;
      withdraw();
      throw;
    }
  }
  /// Copies a message and sends it in the background to rank `to` of the group; sends none without bytes. Call it
  /// outside of `run`. Throws RuntimeFailure if the world or the carrier has failed, and RuntimeFailure(peer_stalled)
  /// after a failed call, as `run` does.
  void post(const Call& call, int to);
  /// Makes every further `run` and `post` throw RuntimeFailure(peer_stalled).
  void refuse() { failed_ = true; }

  // The functions below are called within `run`.
  void start_send(const BufferPart& piece, int to, Tag tag = collective);
  void start_receive(const BufferPart& piece, int from, Tag tag = collective);
  /// Returns the number of messages that were started and not yet cleared.
  size_t started() const { return pending_.size(); }
  /// Whether a message is done that was started and not yet cleared; `message` is its number among these, from 0.
  bool is_done(size_t message) const { return carrier_.is_done(pending_[message]); }
  /// Waits until all started messages are done and clears them; or until the first `count` are done, which are not
  /// cleared. Throws RuntimeFailure if a received message is not what this rank expects (ranks_disagree), the time is
  /// over (peer_stalled), or an awaited rank was lost (peer_lost) or has ended normally (ranks_disagree). Also throws
  /// it, with their codes, if the world or the carrier has failed.
  void wait();
  void wait(size_t count);

 private:
  void require_usable(const Call& call) const;
  void begin(const Call& call, Timeout timeout);
  void start(PendingMessage::Way way, const BufferPart& piece, int peer, Tag tag);
  MessageLabel label() const;
  /// Checks the received messages that are done. Throws RuntimeFailure(ranks_disagree) unless they are what this rank
  /// expects.
  void check_received() const;
  /// Checks the peers of unfinished messages. Throws RuntimeFailure if one has gone: ranks_disagree if it ended
  /// normally, else peer_lost.
  void look_for_lost() const;
  [[noreturn]] void give_up() const;
  void withdraw() noexcept;

  Carrier& carrier_;
  const std::span<const int> world_ranks_;
  const WorldState& world_;
  const std::function<bool(int)> is_gone_;
  std::deque<PendingMessage> pending_;  // kept between calls, so that calls allocate nothing

  // State of the current call.
  const Call* call_ = nullptr;
  Timeout timeout_{};
  Deadline deadline_;
  bool failed_ = false;
};

}  // namespace partita
