#pragma once
// The connection of a rank to one other.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/comm/sockets/completions.h"
#include "runtime/comm/sockets/frame.h"
#include "runtime/comm/sockets/frame_reader.h"
#include "runtime/comm/sockets/inbox.h"
#include "runtime/comm/sockets/outbox.h"
#include "runtime/comm/sockets/socket.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// What all links of a rank share; it outlives them.
struct LinkContext {
  int poll = -1;  // the epoll instance that watches the sockets; an event's data are the number of the peer
  Completions& completions;
  WorldState& world;
};

/// Messages, signs of life and the news of a failure on one connection; without a socket, to nobody. The lock of the
/// connections guards it. A connection that ends, or on which nothing comes for too long, before a `leave` has come
/// fails the world; no function throws for it.
class Link final : private FrameReader::Sink {
 public:
  /// `host` is that of rank `peer`, for messages.
  Link(int peer, std::string host, Socket socket, const LinkContext& context);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Begins a send or a receive. The transfer stays where it is until it is finished or withdrawn.
  void start(PendingMessage& transfer, uint64_t channel);
  /// Begins a send of `bytes`, a copy of the message's.
  void post(const PendingMessage& message, std::vector<std::byte> bytes, uint64_t channel);
  /// Takes back what is not done. False when it had begun to come, or was a send.
  bool withdraw(PendingMessage& transfer, uint64_t channel);
  /// Tells the peer why the world has failed, before all that has not begun to go.
  void send_failure(const WorldFailure& failure);
  void send_leave() { enqueue({.head = {.kind = FrameHead::Kind::leave}}); }

  bool has_left() const { return has_left_; }
  /// Whether everything has gone, and if asked, has reached the peer's machine.
  bool is_sent(bool acknowledged) const;

  // For the thread that moves messages.
  void handle(uint32_t events);
  /// Loses a peer that has been silent for longer than `stall`; says something where nothing was said for `interval`.
  void tick(Deadline now, Timeout stall, Timeout interval);
  /// Forgives silence until now.
  void forgive_silence(Deadline now) { heard_ = now; }

 private:
  std::optional<FrameTarget> begin_frame(const FrameHead& head) override;
  void end_frame(const FrameHead& head) override;
  bool expects_long_message() const override { return inbox_.expects_long_message(); }
  std::optional<FrameTarget> begin_reason(const FrameHead& head);
  void learn_failure(const FrameHead& head);
  bool send_granted(uint64_t number);
  void grant(std::optional<uint64_t> request);
  void enqueue(Outbox::Frame frame);
  void read();
  void write();
  void watch(int change, uint32_t events);
  void lose(ExitCode code, const std::string& what);

  const int peer_;
  const std::string host_;
  const LinkContext context_;
  Socket socket_;
  Outbox outbox_;
  Inbox inbox_;
  FrameReader reader_;
  std::string reason_;  // of a failure, while it comes
  bool has_left_ = false, is_armed_ = false;
  Deadline heard_ = std::chrono::steady_clock::now();
};

}  // namespace partita
