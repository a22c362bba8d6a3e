// What no rank of this version sends, once it has shown that it knows the secret.

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "runtime/comm/sockets/connections.h"
#include "runtime/comm/sockets/gate.h"
#include "runtime/comm/sockets/rendezvous.h"

namespace partita {
namespace {

using namespace std::chrono_literals;

template <class T>
std::span<const std::byte> raw_bytes(const T& value) {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}

/// Why a rank fails to which another one sends this.
WorldFailure failure_by(const FrameHead& head, const std::string& bytes) {
  int pair[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const Socket peer(pair[1]);
  std::vector<Socket> links(2);
  links[1] = Socket(pair[0]);
  const auto world = std::make_shared<WorldState>(2);
  const Connections connections(std::move(links), {.rank = 0, .hosts = {"a", "b"}, .stall = 20s}, world);
  send_all(peer, raw_bytes(head), deadline_after(5s));
  send_all(peer, bytes_of(bytes), deadline_after(5s));
  ::shutdown(peer.file(), SHUT_WR);
  const Deadline until = deadline_after(10s);
  while (!world->is_aborted() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  return world->failure();
}

TEST(Wire, AFailureHasACodeAndARankOfTheWorld) {
  const std::string text = "[communicator] over";
  FrameHead head{.kind = FrameHead::Kind::abort,
                 .tag = static_cast<int32_t>(ExitCode::non_finite),
                 .number = 2,
                 .bytes = static_cast<int64_t>(text.size())};
  const WorldFailure right = failure_by(head, text);
  EXPECT_EQ(right.code, ExitCode::non_finite);
  EXPECT_EQ(right.lost, 1);
  EXPECT_EQ(right.text, text);
  head.tag = 0;  // a job that failed would end well
  head.number = uint64_t{1} << 40;
  const WorldFailure wrong = failure_by(head, text);
  EXPECT_EQ(wrong.code, ExitCode::internal);
  EXPECT_EQ(wrong.lost, -1);
  EXPECT_EQ(wrong.text, text);
}

constexpr MessageLabel kSumLabel{.kind = Collective::all_reduce, .dtype = DType::f32, .reduce = Reduce::sum};
constexpr int64_t kLongMessage = 100'000;  // more than is sent without leave

/// The connections of rank 0, and rank 1 as the frames that it sends.
struct OneConnection {
  Socket peer;
  std::shared_ptr<WorldState> world = std::make_shared<WorldState>(2);
  std::unique_ptr<Connections> connections;

  OneConnection() {
    int pair[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    peer = Socket(pair[1]);
    std::vector<Socket> links(2);
    links[1] = Socket(pair[0]);
    connections = std::make_unique<Connections>(std::move(links),
                                                ConnectionOptions{.rank = 0, .hosts = {"a", "b"}, .stall = 20s}, world);
  }
  ~OneConnection() { say({.kind = FrameHead::Kind::leave}); }

  void say(FrameHead head, int64_t bytes = 0, char with = 'x') {
    if (head.kind != FrameHead::Kind::request) head.bytes = bytes;
    const std::string frame =
        std::string(reinterpret_cast<const char*>(&head), sizeof head) + std::string(static_cast<size_t>(bytes), with);
    send_all(peer, bytes_of(frame), deadline_after(5s));
  }
  void say_message(uint64_t number, int64_t bytes, char with = 'x') {
    say(head_of(FrameHead::Kind::message, number), bytes, with);
  }
  static FrameHead head_of(FrameHead::Kind kind, uint64_t number) {
    return {.kind = kind,
            .channel = 1,
            .number = number,
            .bytes = kLongMessage,
            .call = static_cast<uint8_t>(kSumLabel.kind),
            .dtype = static_cast<uint8_t>(kSumLabel.dtype),
            .reduce = static_cast<uint8_t>(kSumLabel.reduce)};
  }
  /// The next frame without bytes that is no sign of life.
  FrameHead hear() {
    FrameHead head;
    do {
      receive_all(peer, {reinterpret_cast<std::byte*>(&head), sizeof head}, deadline_after(5s));
    } while (head.kind == FrameHead::Kind::alive);
    return head;
  }
  /// Until rank 0 has read what was said.
  void await_taken() const {
    int unread = 1;
    while (::ioctl(peer.file(), SIOCOUTQ, &unread) == 0 && unread > 0) std::this_thread::sleep_for(1ms);
  }
  PendingMessage& start(PendingMessage::Way way, std::vector<std::byte>& bytes) {
    PendingMessage& message = pending.emplace_back(PendingMessage{
        .way = way, .data = bytes.data(), .bytes = std::ssize(bytes), .peer = 1, .tag = 0, .label = kSumLabel});
    connections->start(message, 1, 1);
    return message;
  }
  void withdraw() {
    const std::vector<int> peers(pending.size(), 1);
    connections->withdraw(pending, peers, 1);
    pending.clear();
  }
  /// Whether a message still comes through.
  bool is_sound(uint64_t number) {
    std::vector<std::byte> bytes(16);
    start(PendingMessage::Way::receive, bytes);
    say_message(number, 16, 'y');
    const bool received = connections->wait(pending, pending.size(), deadline_after(5s));
    pending.clear();
    return received && bytes[15] == std::byte{'y'} && !world->is_aborted();
  }
  /// Why the connection has ended.
  std::string end() const {
    const Deadline until = deadline_after(5s);
    while (!world->is_aborted() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    return world->failure().text;
  }

  std::deque<PendingMessage> pending;
};

TEST(Wire, AGrantOfAWithdrawnRequestIsLate) {
  OneConnection one;
  {
    std::vector<std::byte> bytes(kLongMessage);
    one.start(PendingMessage::Way::send, bytes);
    const FrameHead request = one.hear();
    EXPECT_EQ(request.kind, FrameHead::Kind::request);
    one.withdraw();
    one.say({.kind = FrameHead::Kind::grant, .number = request.number});
  }
  EXPECT_TRUE(one.is_sound(1));
}

TEST(Wire, AGrantOfNoRequestEndsTheConnection) {
  OneConnection one;
  one.say({.kind = FrameHead::Kind::grant, .number = 1});
  EXPECT_NE(one.end().find("sent a message that is unknown to this version"), std::string::npos) << one.end();
}

TEST(Wire, NumbersOfMessagesRise) {
  OneConnection one;
  EXPECT_TRUE(one.is_sound(3));
  one.say_message(3, 16);
  EXPECT_NE(one.end().find("sent a message that is unknown to this version"), std::string::npos) << one.end();
}

TEST(Wire, AWithdrawnMessageIsNotWritten) {
  OneConnection one;
  std::vector<std::byte> bytes(kLongMessage);
  one.start(PendingMessage::Way::receive, bytes);
  one.say(OneConnection::head_of(FrameHead::Kind::request, 1));
  EXPECT_EQ(one.hear().kind, FrameHead::Kind::grant);
  one.say_message(1, kLongMessage / 2, 'a');
  one.await_taken();
  one.withdraw();
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{'a'}), kLongMessage / 2);
  one.say_message(1, kLongMessage / 2, 'b');
  EXPECT_TRUE(one.is_sound(2));
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{'b'}), 0);
  // More of it than was announced.
  one.say_message(1, 16);
  EXPECT_NE(one.end().find("sent a message that is unknown to this version"), std::string::npos) << one.end();
}

/// Returns the host of rank 1 that rank 1 reads from `reply` of rank 0, or the exit code and the error text.
std::string met_with(std::span<const std::byte> reply) {
  const Socket listener = listen_on({"127.0.0.1", 0});
  const JobKey key("a secret of sixteen characters or more", "");
  std::jthread first([&] {
    const Deadline until = deadline_after(10s);
    await_readable(listener, until);
    const Socket socket(::accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC));
    const Digest nonce{};
    Digest mine{};
    std::array<std::byte, sizeof(Digest) + sizeof(Hello)> rest;
    send_all(socket, nonce, until);
    receive_all(socket, mine, until);
    receive_all(socket, std::span(rest).first(sizeof(Digest)), until);
    send_all(socket, key.proof("listens", nonce, mine), until);
    receive_all(socket, std::span(rest).first(sizeof(Hello)), until);
    send_all(socket, reply, until);
  });
  try {
    const Rendezvous met =
        meet({.rank = 1, .size = 2, .master = local_endpoint(listener), .address = "127.0.0.1", .timeout = 10s}, key);
    return met.hosts.at(1);
  } catch (const RuntimeFailure& error) {
    return fmt::format("{} {}", static_cast<int>(error.code()), error.what());
  }
}

TEST(Wire, NamesOfATableEnd) {
  std::vector<std::byte> reply(8 + 2 * sizeof(Hello), std::byte{'x'});
  const int32_t head[2] = {0, 2 * sizeof(Hello)};
  std::memcpy(reply.data(), head, sizeof head);
  EXPECT_EQ(met_with(reply), std::string(63, 'x'));
}

TEST(Wire, ARefusalHasACode) {
  const int32_t head[2] = {3, 8};
  std::vector<std::byte> reply(8 + 8, std::byte{'x'});
  std::memcpy(reply.data(), head, sizeof head);
  EXPECT_EQ(met_with(reply), "70 xxxxxxxx");
}

}  // namespace
}  // namespace partita
