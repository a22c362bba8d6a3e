#pragma once
// Messages from one rank to another, in the order in which they were sent.

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

/// A sender copies its message directly to a receiver that already waits, else into a queue. So two ranks may send to
/// each other before either receives.
class Mailbox {
 public:
  /// The outcome of a call. timed_out: there was no room, or no message, by the deadline. aborted: the world has
  /// failed. disagreed: the sender and the receiver give different types or counts.
  enum class Outcome { done, timed_out, aborted, disagreed };

  /// Sends a message, copied to a waiting receiver or to the queue. Waits while the queue has `kMaxQueued` messages,
  /// until the deadline. Returns any outcome; never throws for one.
  Outcome send(const Call& call, Deadline deadline, const WorldState& world, const WaitPolicy& policy);
  /// Sends a message without waiting for room. Returns any outcome but `timed_out`.
  Outcome post(const Call& call, const WorldState& world);
  Outcome recv(const Call& call, Deadline deadline, const WorldState& world, const WaitPolicy& policy);

  /// The two calls that caused `disagreed`.
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
  /// The waiting receiver; `taken` while a sender copies to it without the lock.
  struct Waiter {
    Call call;
    enum class State { waiting, taken, done, disagreed } state = State::waiting;
  };

  bool note_conflict(const Call& sent, const Call& received);
  /// Copies the message to the waiting receiver and wakes it. Returns with the lock released: `done`, or `disagreed` if
  /// the receiver's type or count differs.
  Outcome deliver(std::unique_lock<std::mutex>& lock, const Call& call);
  /// Copies the message, unlocked, and queues it. Returns false, and queues nothing, if a receiver arrived during the
  /// copy. The lock is held at the return.
  bool enqueue(std::unique_lock<std::mutex>& lock, const Call& call);
  Outcome take_first(std::unique_lock<std::mutex>& lock, const Call& call);
  Outcome await_sender(std::unique_lock<std::mutex>& lock, const Call& call, Deadline deadline, const WorldState& world,
                       const WaitPolicy& policy);

  mutable std::mutex mutex_;
  std::deque<Message> queue_;
  std::vector<std::vector<std::byte>> spare_;  // reusable buffers of received messages
  Waiter* waiter_ = nullptr;
  Conflict conflict_;
  EventCount event_;
};

}  // namespace partita
