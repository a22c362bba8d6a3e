#include "runtime/comm/sockets/value_table.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/error.h"

namespace partita {
namespace {

constexpr int kMaxStrangersOfValues = 256;  // connections that wait at the gate
constexpr Timeout kAnswerTime = std::chrono::seconds(5);
constexpr std::chrono::milliseconds kLongestRest{1000};

std::span<const std::byte> head_bytes(const ValueAnswer& answer) {
  return {reinterpret_cast<const std::byte*>(&answer), sizeof answer};
}

/// Sends an answer. Returns false if the connection is lost.
bool answer(const Socket& socket, const std::optional<std::string>& value) {
  const ValueAnswer head{.is_found = value ? 1 : 0, .value_bytes = value ? static_cast<int64_t>(value->size()) : 0};
  const Deadline until = deadline_after(kAnswerTime);
  return send_all(socket, head_bytes(head), until) && (!value || send_all(socket, bytes_of(*value), until));
}

Socket event_file() {
  Socket event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (event.is_open()) return event;
  throw RuntimeFailure(ExitCode::out_of_memory, fmt::format("[values] out of memory: no event of the kernel, got '{}', "
                                                            "expected one: ulimit -n",
                                                            std::strerror(errno)));
}

}  // namespace

ValueTable::ValueTable(Socket listener, const JobKey& key)
    : key_(key), gate_(std::move(listener), key_, kMaxStrangersOfValues), wake_(event_file()) {
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& error) {
    throw RuntimeFailure(
        ExitCode::out_of_memory,
        fmt::format("[values] out of memory: cannot start a thread, got '{}', expected one more", error.what()));
  }
}

ValueTable::~ValueTable() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake();
  thread_.join();
}

void ValueTable::wake() const {
  const uint64_t one = 1;
  // A full counter wakes the thread as well.
  if (::write(wake_.file(), &one, sizeof one) < 0) return;
}

void ValueTable::put(const std::string& key, const std::string& value) {
  {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
  }
  changed_.notify_all();
  wake();
}

std::optional<std::string> ValueTable::get(const std::string& key, Timeout timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline_after(timeout), [&] { return values_.contains(key); });
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

void ValueTable::serve() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) return;
    }
    try {
      accept_next();
    } catch (const std::exception&) {  // no random bytes or memory: later connections may have some
    }
    uint64_t wakes = 0;
    if (::read(wake_.file(), &wakes, sizeof wakes) < 0) wakes = 0;
    std::erase_if(callers_, [&](Caller& caller) {
      try {
        return !advance(caller) || !answer_late(caller);
      } catch (const std::exception&) {  // no memory for its question
        return true;
      }
    });
  }
}

/// Waits until a connection joins, a caller asks, a value was set or a get ends.
void ValueTable::accept_next() {
  Deadline until = deadline_after(kLongestRest);
  std::vector<int> watched{wake_.file()};
  for (const Caller& caller : callers_) {
    watched.push_back(caller.socket.file());
    if (caller.awaits) until = std::min(until, caller.until);
  }
  if (std::optional<Joined> joined = gate_.next(until, watched)) callers_.push_back({std::move(joined->socket)});
}

/// Reads what a caller sent, without waiting, and answers its question once that is complete. Returns false if the
/// connection has ended or asks what no caller of this version asks.
bool ValueTable::advance(Caller& caller) {
  std::byte bytes[64 << 10];
  for (;;) {
    const ssize_t count = ::recv(caller.socket.file(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (count == 0 || caller.awaits) return false;
    caller.received.insert(caller.received.end(), bytes, bytes + count);
    if (!take_question(caller)) return false;
  }
}

bool ValueTable::take_question(Caller& caller) {
  ValueQuestion head;
  if (caller.received.size() < sizeof head) return true;
  std::memcpy(&head, caller.received.data(), sizeof head);
  const bool is_put = head.kind == ValueQuestion::Kind::put;
  const bool is_sound = (is_put || head.kind == ValueQuestion::Kind::get) && head.key_bytes >= 0 &&
                        head.key_bytes <= kMaxKeyBytes && head.value_bytes >= 0 &&
                        head.value_bytes <= (is_put ? kMaxValueBytes : 0);
  if (!is_sound) return false;
  const size_t whole = sizeof head + static_cast<size_t>(head.key_bytes + head.value_bytes);
  if (caller.received.size() < whole) return true;
  if (caller.received.size() > whole) return false;  // the next question, before the answer to this one
  const auto* text = reinterpret_cast<const char*>(caller.received.data()) + sizeof head;
  const std::string key(text, static_cast<size_t>(head.key_bytes));
  const std::string value(text + head.key_bytes, static_cast<size_t>(head.value_bytes));
  caller.received = {};
  if (is_put) {
    put(key, value);
    return answer(caller.socket, "");
  }
  caller.awaits = key;
  caller.until = deadline_after(Timeout(head.timeout_ms));
  return true;
}

/// Answers a get if its value is there or its time has passed. Returns false if the connection is lost.
bool ValueTable::answer_late(Caller& caller) {
  if (!caller.awaits) return true;
  const std::optional<std::string> value = get(*caller.awaits, Timeout(0));
  if (!value && std::chrono::steady_clock::now() < caller.until) return true;
  caller.awaits.reset();
  return answer(caller.socket, value);
}

}  // namespace partita
