#include "runtime/comm/sockets/gate.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace partita {
namespace {

constexpr size_t kMinSecret = 16;
constexpr size_t kResponse = 2 * sizeof(Digest);
constexpr std::chrono::milliseconds kHandshakeTime{5000}, kShortHandshakeTime{500};
constexpr std::chrono::milliseconds kGateInterval{200}, kFullPause{10};

/// Resets a connection: its caller can tell that from a refusal, and may call again.
void turn_away(Socket& socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket.file(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  socket.close();
}

/// Waits for the answer to a response. Returns false if the connection was closed normally instead, true in all other
/// cases: an answer, an error, or `until` has passed.
bool is_answered(const Socket& socket, Deadline until) {
  std::byte first{};
  return !await_readable(socket, until) || ::recv(socket.file(), &first, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

}  // namespace

JobKey::JobKey(std::string_view secret, std::string_view run) {
  if (secret.size() < kMinSecret) {
    throw InvalidArgument(
        fmt::format("[secret] too short, got {} characters, expected {} or more", secret.size(), kMinSecret));
  }
  key_ = keyed_hash(bytes_of(secret), bytes_of("partita 1 " + std::string(run)));
}

Digest JobKey::proof(std::string_view role, const Digest& first, const Digest& second) const {
  std::vector<std::byte> message(role.size() + 2 * sizeof(Digest));
  std::memcpy(message.data(), role.data(), role.size());
  std::copy(first.begin(), first.end(), message.begin() + static_cast<std::ptrdiff_t>(role.size()));
  std::copy(second.begin(), second.end(), message.end() - sizeof(Digest));
  return keyed_hash(key_, message);
}

Joining join(const Socket& socket, const JobKey& key, const Hello& own, Deadline until) {
  Digest nonce{}, answer{};
  if (!receive_all(socket, nonce, until)) return Joining::no_answer;
  const Digest mine = random_bytes(), response = key.proof("calls", nonce, mine);
  std::array<std::byte, kResponse> sent;
  std::copy(mine.begin(), mine.end(), sent.begin());
  std::copy(response.begin(), response.end(), sent.begin() + sizeof mine);
  if (!send_all(socket, sent, until)) return Joining::no_answer;
  if (!is_answered(socket, until)) return Joining::refused;
  if (!receive_all(socket, answer, until)) return Joining::no_answer;
  if (!equal_digests(answer, key.proof("listens", nonce, mine))) return Joining::refused;
  const auto* hello = reinterpret_cast<const std::byte*>(&own);
  return send_all(socket, {hello, sizeof own}, until) ? Joining::done : Joining::no_answer;
}

bool Gate::make_room() {
  const Deadline late = std::chrono::steady_clock::now() - kShortHandshakeTime;
  std::vector<size_t> unknown, slow;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].is_proved) continue;
    unknown.push_back(i);
    if (waiting_[i].since <= late) slow.push_back(i);
  }
  const std::vector<size_t>& drawn_from = slow.empty() ? unknown : slow;
  if (drawn_from.empty()) return false;
  Waiting& drawn = waiting_[drawn_from[numbers_() % drawn_from.size()]];
  turn_away(drawn.socket);
  std::swap(drawn, waiting_.back());
  waiting_.pop_back();
  ++strangers_;
  return true;
}

void Gate::accept_all() {
  constexpr int kAtOnce = 64;
  for (int i = 0; i < kAtOnce; ++i) {
    Socket socket(::accept4(listener_.file(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      const bool has_no_files = errno == EMFILE || errno == ENFILE;
      if (has_no_files && make_room()) continue;
      if (has_no_files) std::this_thread::sleep_for(kFullPause);  // the listener stays readable
      return;
    }
    if (is_full() && !make_room()) {
      turn_away(socket);
      ++strangers_;
      continue;
    }
    Waiting waiting{.socket = std::move(socket), .nonce = random_bytes(), .since = std::chrono::steady_clock::now()};
    // Does not block: 32 bytes always fit into the buffer of a new connection.
    if (!send_all(waiting.socket, waiting.nonce, waiting.since)) continue;
    waiting.bytes.resize(kResponse);
    waiting_.push_back(std::move(waiting));
  }
}

bool Gate::check_response(Waiting& waiting) {
  Digest nonce, response;
  std::copy_n(waiting.bytes.begin(), sizeof nonce, nonce.begin());
  std::copy_n(waiting.bytes.begin() + sizeof nonce, sizeof response, response.begin());
  if (!equal_digests(response, key_.proof("calls", waiting.nonce, nonce))) return false;
  const Digest answer = key_.proof("listens", waiting.nonce, nonce);
  if (!send_all(waiting.socket, answer, std::chrono::steady_clock::now())) return false;
  waiting.is_proved = true;
  waiting.received = 0;
  waiting.bytes.resize(sizeof(Hello));
  return true;
}

bool Gate::advance(Waiting& waiting) {
  while (true) {
    const ssize_t received = ::recv(waiting.socket.file(), waiting.bytes.data() + waiting.received,
                                    waiting.bytes.size() - waiting.received, 0);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (received <= 0) return false;
    waiting.received += static_cast<size_t>(received);
    if (waiting.received < waiting.bytes.size()) continue;
    if (!waiting.is_proved) {
      if (!check_response(waiting)) return false;
      continue;
    }
    Joined joined{.socket = std::move(waiting.socket)};
    std::memcpy(&joined.hello, waiting.bytes.data(), sizeof joined.hello);
    joined.hello.address[sizeof joined.hello.address - 1] = joined.hello.host[sizeof joined.hello.host - 1] = 0;
    joined_.push_back(std::move(joined));
    return false;
  }
}

std::optional<Joined> Gate::next(Deadline until, const std::vector<int>& watched) {
  while (joined_.empty()) {
    const Deadline now = std::chrono::steady_clock::now();
    if (now >= until) return std::nullopt;
    std::vector<pollfd> files{{.fd = listener_.file(), .events = POLLIN}};
    for (const int file : watched) files.push_back({.fd = file, .events = POLLIN});
    for (const Waiting& waiting : waiting_) files.push_back({.fd = waiting.socket.file(), .events = POLLIN});
    const auto rest =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<Deadline::duration>(until - now, kGateInterval));
    const int ready = ::poll(files.data(), files.size(), static_cast<int>(rest.count()));
    if (ready < 0 && errno != EINTR) return std::nullopt;
    for (size_t i = 1; i <= watched.size() && ready > 0; ++i) {
      if (files[i].revents != 0) return std::nullopt;
    }
    const Deadline after = std::chrono::steady_clock::now();
    size_t at = 1 + watched.size();
    const auto patience = is_full() ? kShortHandshakeTime : kHandshakeTime;
    std::vector<Waiting> kept;
    for (Waiting& waiting : waiting_) {
      const bool is_ready = ready > 0 && files[at].revents != 0;
      ++at;
      const bool is_late = !is_ready && after >= waiting.since + (waiting.is_proved ? kHandshakeTime : patience);
      if (is_late) turn_away(waiting.socket);
      if (!is_late && (!is_ready || advance(waiting))) {
        kept.push_back(std::move(waiting));
      } else if (is_late || waiting.socket.is_open()) {  // otherwise it has joined
        ++strangers_;
      }
    }
    waiting_ = std::move(kept);
    if (ready > 0 && files[0].revents != 0) accept_all();
  }
  Joined first = std::move(joined_.front());
  joined_.pop_front();
  return first;
}

}  // namespace partita
