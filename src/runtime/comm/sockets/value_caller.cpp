#include "runtime/comm/sockets/value_caller.h"

#include <thread>

#include "base/error.h"
#include "runtime/comm/sockets/timeouts.h"

namespace partita {
namespace {

constexpr Timeout kGrace = std::chrono::seconds(60);  // for an answer, after the end of what it waits for
constexpr std::chrono::milliseconds kNextTry{10}, kCheckInterval{250};

[[noreturn]] void lose(const Endpoint& endpoint, std::string_view got) {
  throw RuntimeFailure(ExitCode::peer_lost, fmt::format("[values] rank 0 does not answer at {}, got {}, expected its "
                                                        "answer",
                                                        print(endpoint), got));
}

}  // namespace

/// Returns a connection without a question, a new one if there is none.
Socket ValueCaller::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Socket socket = std::move(idle_.back());
      idle_.pop_back();
      return socket;
    }
  }
  const Deadline until = deadline_after(start_timeout());
  for (;;) {
    std::optional<Socket> socket = connect_to(endpoint_, until);
    if (!socket) lose(endpoint_, "no connection");
    prepare_connection(*socket);
    const Joining end = join(*socket, key_, Hello{}, until);
    if (end == Joining::done) return std::move(*socket);
    if (end == Joining::refused) lose(endpoint_, "a refusal");
    if (std::chrono::steady_clock::now() + kNextTry >= until) lose(endpoint_, "no answer");
    std::this_thread::sleep_for(kNextTry);
  }
}

void ValueCaller::await_answer(const Socket& socket, Deadline until) const {
  while (!await_readable(socket, std::min(until, deadline_after(kCheckInterval)))) {
    check_();
    if (std::chrono::steady_clock::now() >= until) lose(endpoint_, "no answer");
  }
}

std::optional<std::string> ValueCaller::ask(const ValueQuestion& head, const std::string& key,
                                            const std::string& value) {
  if (head.key_bytes > kMaxKeyBytes || head.value_bytes > kMaxValueBytes) {
    throw InvalidArgument(
        fmt::format("[values] too long, got a key of {} bytes and a value of {}, expected at most {} "
                    "and {}",
                    head.key_bytes, head.value_bytes, kMaxKeyBytes, kMaxValueBytes));
  }
  Socket socket = take();
  const Deadline until = deadline_after(Timeout(head.timeout_ms)) + kGrace;
  ValueAnswer answer;
  const bool is_asked = send_all(socket, {reinterpret_cast<const std::byte*>(&head), sizeof head}, until) &&
                        send_all(socket, bytes_of(key), until) && send_all(socket, bytes_of(value), until);
  if (is_asked) await_answer(socket, until);
  const bool is_answered =
      is_asked && receive_all(socket, {reinterpret_cast<std::byte*>(&answer), sizeof answer}, until);
  if (!is_answered || answer.value_bytes < 0 || answer.value_bytes > kMaxValueBytes) {
    lose(endpoint_, "the end of the connection");
  }
  std::string found(static_cast<size_t>(answer.value_bytes), '\0');
  if (!receive_all(socket, {reinterpret_cast<std::byte*>(found.data()), found.size()}, until)) {
    lose(endpoint_, "a part of a value");
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(socket));
  return answer.is_found != 0 ? std::optional(std::move(found)) : std::nullopt;
}

void ValueCaller::put(const std::string& key, const std::string& value) {
  ask({.kind = ValueQuestion::Kind::put,
       .key_bytes = static_cast<int64_t>(key.size()),
       .value_bytes = static_cast<int64_t>(value.size())},
      key, value);
}

std::optional<std::string> ValueCaller::get(const std::string& key, Timeout timeout) {
  return ask({.kind = ValueQuestion::Kind::get,
              .key_bytes = static_cast<int64_t>(key.size()),
              .timeout_ms = static_cast<int64_t>(timeout.count())},
             key, "");
}

}  // namespace partita
