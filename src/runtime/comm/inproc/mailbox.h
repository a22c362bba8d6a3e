#pragma once
// Messages from one rank to another, in the order they were sent.

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/call.h"
#include "runtime/comm/event_count.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// A sender copies its message straight to a receiver that waits already, and into a queue
/// otherwise, so that two ranks may send to each other before either receives.
class Mailbox {
 public:
  /// What became of a call.
  enum class Outcome { done, timed_out, aborted, disagreed };

  /// Waits while `kMaxQueued` messages lie in the queue.
  Outcome send(const Call& call, Deadline deadline, const WorldState& world, const WaitPolicy& policy);
  /// Without waiting for room.
  Outcome post(const Call& call, const WorldState& world);
  Outcome recv(const Call& call, Deadline deadline, const WorldState& world, const WaitPolicy& policy);

  /// The two calls behind `disagreed`.
  struct Conflict {
    Call sent;
    Call received;
  };
  Conflict conflict() const;

  void wake() { event_.notify(); }

 private:
  static constexpr size_t kMaxQueued = 64;

  struct Message {
    Call call;
    std::vector<std::byte> bytes;
  };
  /// The receiver that waits; `taken` while a sender copies to it outside the lock.
  struct Waiter {
    Call call;
    enum class State { waiting, taken, done, disagreed } state = State::waiting;
  };

  bool note_conflict(const Call& sent, const Call& received);
  /// Hands the message to the waiting receiver; leaves unlocked.
  Outcome deliver(std::unique_lock<std::mutex>& lock, const Call& call);
  /// False when a receiver came while the message was copied, unlocked.
  bool enqueue(std::unique_lock<std::mutex>& lock, const Call& call);
  Outcome take_first(std::unique_lock<std::mutex>& lock, const Call& call);
  Outcome await_sender(std::unique_lock<std::mutex>& lock, const Call& call, Deadline deadline, const WorldState& world,
                       const WaitPolicy& policy);

  mutable std::mutex mutex_;
  std::deque<Message> queue_;
  std::vector<std::vector<std::byte>> spare_;  // buffers of messages that were received
  Waiter* waiter_ = nullptr;
  Conflict conflict_;
  EventCount event_;
};

}  // namespace partita
