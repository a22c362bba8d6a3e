#include "runtime/comm/inproc/mailbox.h"

#include <cstring>

namespace partita {
namespace {

size_t message_bytes(const Call& call) { return static_cast<size_t>(call.count) * size_of(call.dtype); }

void copy_message(void* target, const void* source, size_t size) {
  if (size > 0) std::memcpy(target, source, size);
}

}  // namespace

Mailbox::Outcome Mailbox::send(const Call& call, Deadline deadline, const WorldState& world, const WaitPolicy& policy) {
  const auto has_room = [&] {
    const std::lock_guard lock(mutex_);
    return queue_.size() < kMaxQueued;
  };
  event_.wait([&] { return has_room() || world.is_aborted(); }, deadline, policy);
  std::unique_lock lock(mutex_);
  if (world.is_aborted()) return Outcome::aborted;
  if (queue_.size() >= kMaxQueued) return Outcome::timed_out;
  if (waiter_ == nullptr && enqueue(lock, call)) return Outcome::done;
  return deliver(lock, call);
}

Mailbox::Outcome Mailbox::post(const Call& call, const WorldState& world) {
  std::unique_lock lock(mutex_);
  if (world.is_aborted()) return Outcome::aborted;
  if (waiter_ == nullptr && enqueue(lock, call)) return Outcome::done;
  return deliver(lock, call);
}

Mailbox::Outcome Mailbox::recv(const Call& call, Deadline deadline, const WorldState& world, const WaitPolicy& policy) {
  std::unique_lock lock(mutex_);
  if (!queue_.empty()) return take_first(lock, call);
  return await_sender(lock, call, deadline, world, policy);
}

Mailbox::Conflict Mailbox::conflict() const {
  const std::lock_guard lock(mutex_);
  return conflict_;
}

bool Mailbox::note_conflict(const Call& sent, const Call& received) {
  if (sent.dtype == received.dtype && sent.count == received.count) return false;
  conflict_ = {.sent = sent, .received = received};
  return true;
}

Mailbox::Outcome Mailbox::deliver(std::unique_lock<std::mutex>& lock, const Call& call) {
  Waiter* waiter = waiter_;
  waiter_ = nullptr;
  if (note_conflict(call, waiter->call)) {
    waiter->state = Waiter::State::disagreed;
  } else {
    waiter->state = Waiter::State::taken;
    lock.unlock();
    copy_message(waiter->call.recv, call.send, message_bytes(call));
    lock.lock();
    waiter->state = Waiter::State::done;
  }
  const bool is_done = waiter->state == Waiter::State::done;
  lock.unlock();
  event_.notify();
  return is_done ? Outcome::done : Outcome::disagreed;
}

bool Mailbox::enqueue(std::unique_lock<std::mutex>& lock, const Call& call) {
  std::vector<std::byte> bytes;
  if (!spare_.empty()) {
    bytes = std::move(spare_.back());
    spare_.pop_back();
  }
  lock.unlock();
  bytes.resize(message_bytes(call));
  copy_message(bytes.data(), call.send, bytes.size());
  lock.lock();
  if (waiter_ != nullptr) {
    spare_.push_back(std::move(bytes));
    return false;
  }
  queue_.push_back({.call = call, .bytes = std::move(bytes)});
  return true;
}

Mailbox::Outcome Mailbox::take_first(std::unique_lock<std::mutex>& lock, const Call& call) {
  if (note_conflict(queue_.front().call, call)) return Outcome::disagreed;
  Message message = std::move(queue_.front());
  queue_.pop_front();
  lock.unlock();
  copy_message(call.recv, message.bytes.data(), message.bytes.size());
  lock.lock();
  spare_.push_back(std::move(message.bytes));
  event_.notify();
  return Outcome::done;
}

Mailbox::Outcome Mailbox::await_sender(std::unique_lock<std::mutex>& lock, const Call& call, Deadline deadline,
                                       const WorldState& world, const WaitPolicy& policy) {
  Waiter waiter{.call = call};
  waiter_ = &waiter;
  lock.unlock();
  const auto state = [&] {
    const std::lock_guard guard(mutex_);
    return waiter.state;
  };
  const auto is_decided = [&] {
    const auto now = state();
    return now == Waiter::State::done || now == Waiter::State::disagreed;
  };
  event_.wait([&] { return is_decided() || world.is_aborted(); }, deadline, policy);
  lock.lock();
  if (waiter.state == Waiter::State::waiting) {
    waiter_ = nullptr;
    return world.is_aborted() ? Outcome::aborted : Outcome::timed_out;
  }
  // A sender that has begun to copy finishes soon, even after the deadline.
  lock.unlock();
  event_.wait(is_decided, Deadline::max(), policy);
  lock.lock();
  return waiter.state == Waiter::State::done ? Outcome::done : Outcome::disagreed;
}

}  // namespace partita
