// What comes by sockets: of strangers at a gate, of ranks that meet, of ranks that exchange messages.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <thread>

#include "base/error.h"
#include "fuzz/target.h"
#include "runtime/comm/sockets/connections.h"
#include "runtime/comm/sockets/gate.h"
#include "runtime/comm/sockets/rendezvous.h"

namespace partita {
namespace {

using std::chrono::milliseconds;

const JobKey& job_key() {
  static const JobKey key("a secret of sixteen characters or more", "0");
  return key;
}

std::span<const std::byte> as_span(std::string_view bytes) { return bytes_of(bytes); }

/// A socket of this host that listens, and calls to it.
class Meeting {
 public:
  Meeting() : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    address_.sun_family = AF_UNIX;  // without a name the kernel chooses one
    length_ = sizeof(sa_family_t);
    ::bind(listener_.file(), reinterpret_cast<const sockaddr*>(&address_), length_);
    ::listen(listener_.file(), 16);
    length_ = sizeof address_;
    ::getsockname(listener_.file(), reinterpret_cast<sockaddr*>(&address_), &length_);
  }
  Socket take_listener() { return std::move(listener_); }
  Socket call() const {
    Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::connect(socket.file(), reinterpret_cast<const sockaddr*>(&address_), length_);
    return socket;
  }

 private:
  Socket listener_;
  sockaddr_un address_{};
  socklen_t length_ = 0;
};

/// Answer to the challenge, from a rank that knows the key.
std::string response_to(const Digest& nonce) {
  const Digest mine{};
  const Digest proof = job_key().proof("calls", nonce, mine);
  return {std::string(reinterpret_cast<const char*>(mine.data()), sizeof mine) +
          std::string(reinterpret_cast<const char*>(proof.data()), sizeof proof)};
}

Hello some_hello(int rank) {
  Hello hello{.rank = rank, .size = 2, .port = 2950, .host_key = 7};
  std::strcpy(hello.address, "127.0.0.1");
  std::strcpy(hello.host, "b");
  return hello;
}

std::string bytes_of_hello(const Hello& hello) { return {reinterpret_cast<const char*>(&hello), sizeof hello}; }

/// With 'k' in front the caller knows the key, and the rest follows its response.
void read_at_gate(const std::string& input) {
  if (input.empty()) return;
  const bool knows = input[0] == 'k';
  Meeting meeting;
  Gate gate(meeting.take_listener(), job_key(), 4);
  const Socket caller = meeting.call();
  require(!gate.next(deadline_after(milliseconds(1))), "somebody joins who has said nothing");
  Digest nonce{};
  require(receive_all(caller, nonce, deadline_after(milliseconds(1000))), "no challenge");
  const Deadline until = deadline_after(milliseconds(1000));
  if (knows) send_all(caller, as_span(response_to(nonce)), until);
  send_all(caller, as_span(std::string_view(input).substr(1)), until);
  ::shutdown(caller.file(), SHUT_WR);
  // Whoever comes next shows that the one before was dealt with.
  const auto joined = gate.next(deadline_after(milliseconds(2)));
  require(!joined || knows, "a stranger joins");
  require(joined.has_value() == (knows && input.size() > sizeof(Hello)), "a rank does not join");
  if (!joined) return;
  const auto ends = [](const auto& field) { return std::memchr(field, 0, sizeof field) != nullptr; };
  require(ends(joined->hello.address) && ends(joined->hello.host), "a name without an end");
}

/// Rank 0 meets one that says this of itself, and then one that is right.
void read_hello(const std::string& input) {
  Hello hello{};
  std::memcpy(&hello, input.data(), std::min(input.size(), sizeof hello));
  Meeting meeting;
  const int listener = meeting.take_listener().release();
  std::jthread others([&] {
    const Deadline until = deadline_after(milliseconds(5000));
    char byte = 0;
    for (const Hello& one : {hello, some_hello(1)}) {
      const Socket socket = meeting.call();
      if (join(socket, job_key(), one, until) != Joining::done) continue;
      while (await_readable(socket, until) && ::recv(socket.file(), &byte, 1, 0) == 1) {
      }
    }
  });
  const Rendezvous met = meet(
      {.rank = 0, .size = 2, .listener = listener, .address = "127.0.0.1", .host = "a", .timeout = milliseconds(3000)},
      job_key());
  require(met.hosts.size() == 2 && met.links[1].is_open(), "a rank is missing");
  for (const Socket& link : met.links) {
    if (link.is_open()) ::shutdown(link.file(), SHUT_RDWR);
  }
}

/// Lets rank 1 read `input` as the answer of rank 0.
void read_table(const std::string& input) {
  static Socket listener = listen_on({"127.0.0.1", 0});
  std::jthread first([&] {
    const Deadline until = deadline_after(milliseconds(5000));
    await_readable(listener, until);
    const Socket socket(::accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC));
    std::string response(64, '\0'), hello(sizeof(Hello), '\0');
    const Digest nonce{};
    send_all(socket, nonce, until);
    if (!receive_all(socket, std::as_writable_bytes(std::span(response)), until)) return;
    Digest mine{};
    std::memcpy(mine.data(), response.data(), sizeof mine);
    send_all(socket, job_key().proof("listens", nonce, mine), until);
    if (!receive_all(socket, std::as_writable_bytes(std::span(hello)), until)) return;
    send_all(socket, as_span(input), until);
    ::shutdown(socket.file(), SHUT_WR);
    await_readable(socket, until);
    const linger at_once{.l_onoff = 1, .l_linger = 0};  // or the ports run out
    ::setsockopt(socket.file(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  });
  const Rendezvous met = meet({.rank = 1,
                               .size = 2,
                               .master = local_endpoint(listener),
                               .address = "127.0.0.1",
                               .host = "b",
                               .timeout = milliseconds(3000)},
                              job_key());
  require(met.hosts.size() == 2 && met.links[0].is_open(), "rank 0 is missing");
  for (const std::string& host : met.hosts) require(host.size() < 64, "a name without an end");
  ::shutdown(met.links[0].file(), SHUT_RDWR);
}

std::string some_table() {
  const int32_t head[2] = {0, 2 * sizeof(Hello)};
  return std::string(reinterpret_cast<const char*>(head), sizeof head) + bytes_of_hello(some_hello(0)) +
         bytes_of_hello(some_hello(1));
}

std::string some_refusal() {
  const std::string text = "[rendezvous] rank out of range, got 9 on b, expected 1 to 1";
  const int32_t head[2] = {static_cast<int32_t>(ExitCode::ranks_disagree), static_cast<int32_t>(text.size())};
  return std::string(reinterpret_cast<const char*>(head), sizeof head) + text;
}

/// Reads `input` as the frames of another rank, while this one waits for three messages and sends a long one.
void read_frames(const std::string& input) {
  int pair[2] = {-1, -1};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "no sockets");
  const Socket peer(pair[1]);
  std::vector<Socket> links(2);
  links[1] = Socket(pair[0]);
  const auto world = std::make_shared<WorldState>(2);
  Connections connections(std::move(links), {.rank = 0, .hosts = {"a", "b"}, .stall = milliseconds(10'000)}, world);
  const MessageLabel label{.kind = Collective::all_reduce, .dtype = DType::f32, .reduce = Reduce::sum};
  std::vector<std::vector<std::byte>> buffers{std::vector<std::byte>(16), std::vector<std::byte>(100'000),
                                              std::vector<std::byte>(64), std::vector<std::byte>(100'000)};
  std::deque<PendingMessage> transfers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    transfers.push_back({.way = i == 3 ? PendingMessage::Way::send : PendingMessage::Way::receive,
                         .data = buffers[i].data(),
                         .bytes = static_cast<int64_t>(buffers[i].size()),
                         .peer = 1,
                         .tag = static_cast<int>(i % 2),
                         .label = label});
    if (i != 2) connections.start(transfers.back(), 1, 1);
  }
  const Deadline until = deadline_after(milliseconds(5000));
  send_all(peer, as_span(input), until);
  connections.start(transfers[2], 1, 1);  // it may have come
  ::shutdown(peer.file(), SHUT_WR);
  std::array<char, 65536> bytes;
  while (await_readable(peer, until) && ::recv(peer.file(), bytes.data(), bytes.size(), 0) > 0) {
  }
  require(std::chrono::steady_clock::now() < until, "a connection that has ended is kept");
  if (world->is_aborted()) {
    const WorldFailure failure = world->failure();
    require(failure.lost >= -1 && failure.lost < 2, "a rank was lost that is not of the world");
    world->throw_if_aborted();
  }
  const std::vector<int> peers(transfers.size(), 1);
  connections.withdraw(transfers, peers, 1);
}

std::string frame(FrameHead head, const std::string& bytes = "") {
  if (head.kind != FrameHead::Kind::request) head.bytes = static_cast<int64_t>(bytes.size());
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + bytes;
}

std::vector<std::string> some_frames() {
  using Kind = FrameHead::Kind;
  const FrameHead message{.kind = Kind::message,
                          .channel = 1,
                          .number = 1,
                          .call = static_cast<uint8_t>(Collective::all_reduce),
                          .dtype = static_cast<uint8_t>(DType::f32),
                          .reduce = static_cast<uint8_t>(Reduce::sum)};
  FrameHead request = message, long_message = message, other = message, small = message;
  request.kind = Kind::request;
  request.tag = long_message.tag = 1;
  request.number = long_message.number = 2;
  request.bytes = 100'000;
  other.tag = 5;
  small.number = 3;
  const std::string leave = frame({.kind = Kind::leave}), alive = frame({.kind = Kind::alive});
  return {frame(message, std::string(16, 'a')) + frame(small, std::string(64, 'b')) + leave,
          alive + frame(request) + frame(long_message, std::string(1000, 'c')),
          frame(other, std::string(200, 'd')) + alive + frame({.kind = Kind::grant, .number = 1}) + leave,
          frame({.kind = Kind::abort, .tag = static_cast<int32_t>(ExitCode::peer_lost), .channel = 1, .number = 2},
                "the process of rank 1 on b ended")};
}

}  // namespace

std::vector<FuzzTarget> sockets_targets() {
  const std::string zero(4, '\0'), size("\x02\x00\x00\x00", 4), kind("\x03\x00\x00\x00", 4);
  return {{.name = "gate",
           .seeds =
               [] {
                 return std::vector<std::string>{"k" + bytes_of_hello(some_hello(1)), "x" + std::string(64, 'x')};
               },
           .read = read_at_gate,
           .max_bytes = 1000},
          {.name = "hello",
           .seeds = [] { return std::vector<std::string>{bytes_of_hello(some_hello(1))}; },
           .read = read_hello,
           .words = {zero, size},
           .max_bytes = sizeof(Hello),
           .may_fail = true},
          {.name = "table",
           .seeds = [] { return std::vector<std::string>{some_table()}; },
           .read = read_table,
           .words = {zero, size, some_refusal()},
           .max_bytes = 1000,
           .may_fail = true},
          {.name = "frames",
           .seeds =
               [] {
                 return std::vector<std::string>{some_frames()[0], some_frames()[2]};
               },
           .read = read_frames,
           .words = some_frames(),
           .may_fail = true}};
}

}  // namespace partita
