#pragma once
// The messages of one call of a group: started, waited for, checked, withdrawn.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>

#include "runtime/comm/call.h"
#include "runtime/comm/carrier.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/event_count.h"
#include "runtime/comm/world_state.h"

namespace partita {

inline int64_t item_bytes(const Call& call) { return static_cast<int64_t>(size_of(call.dtype)); }

/// The messages that the present call of a rank has begun. One thread uses it at a time. Messages longer than a carrier
/// takes go in pieces. When a call fails its receives are withdrawn; after a collective that failed, or a message that
/// was lost, every further call does, since the messages of ranks no longer belong together.
class CallMessages {
 public:
  enum Tag : int { point_to_point = 1, collective = 2 };
  /// A part of a buffer.
  struct Bytes {
    void* data = nullptr;
    int64_t bytes = 0;
  };

  /// The first three outlive this. `is_gone`: whether a rank of the world has ended, where that can be seen.
  CallMessages(Carrier& carrier, std::span<const int> world_ranks, const WorldState& world,
               std::function<bool(int rank)> is_gone);
  CallMessages(const CallMessages&) = delete;
  CallMessages& operator=(const CallMessages&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::span<const int> world_ranks() const { return world_ranks_; }

  /// Runs `body` as `call`, which outlives that. When it throws, withdraws what it began, and refuses further calls
  /// after one that is `for_all` ranks. Throws RuntimeFailure when the world or an earlier call has failed.
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
  /// Copies a message and sends it while this rank does other things; outside of `run`.
  void post(const Call& call, int to);
  /// Every further call fails.
  void refuse() { failed_ = true; }

  // Within `run`.
  void start_send(const Bytes& piece, int to, Tag tag = collective);
  void start_receive(const Bytes& piece, int from, Tag tag = collective);
  /// Number of messages that were started and are not forgotten, and whether one of them is done.
  size_t started() const { return pending_.size(); }
  bool is_done(size_t message) const { return carrier_.is_done(pending_[message]); }
  /// Until all that was started is done, or the first `count`, which are then not forgotten. Throws RuntimeFailure when
  /// what came is not what this rank expects, the time is over, or a rank that is waited for has gone.
  void wait();
  void wait(size_t count);

 private:
  void begin(const Call& call, Timeout timeout);
  void start(PendingMessage::Way way, const Bytes& piece, int peer, Tag tag);
  MessageLabel label() const;
  /// Throws unless what came is what this rank expects.
  void check_came() const;
  /// Throws when a message is waited for from, or by, a rank that has gone.
  void look_for_lost() const;
  [[noreturn]] void give_up() const;
  void withdraw() noexcept;

  Carrier& carrier_;
  const std::span<const int> world_ranks_;
  const WorldState& world_;
  const std::function<bool(int)> is_gone_;
  const int rank_, size_;
  std::deque<PendingMessage> pending_;  // kept from call to call, so that calls allocate nothing

  // Of the present call.
  const Call* call_ = nullptr;
  Timeout timeout_{};
  Deadline deadline_;
  bool failed_ = false;
};

}  // namespace partita
