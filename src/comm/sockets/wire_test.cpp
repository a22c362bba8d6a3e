// What no rank of this version sends, once it has shown that it knows the secret.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "base/error.h"
#include "comm/sockets/connections.h"
#include "comm/sockets/gate.h"
#include "comm/sockets/rendezvous.h"

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

/// Of rank 1, whom rank 0 answers this.
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
