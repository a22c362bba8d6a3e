#pragma once
// The connection of a rank to one other rank.

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

/// State that all links of a rank share. It outlives them.
struct LinkContext {
  int poll = -1;  // epoll instance that watches the sockets; the data of an event is the peer's rank
  Completions& completions;
  WorldState& world;
};

/// Messages, keep-alive frames and news of a failure on one connection; without a socket, to nobody. The lock of the
/// connections guards it. If the connection ends, or nothing is received for too long, before a `leave` has arrived,
/// the world fails. No function throws for that.
class Link final : private FrameReader::Sink {
 public:
  /// `host` is the host of rank `peer`, for error messages.
  Link(int peer, std::string host, Socket socket, const LinkContext& context);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Starts a send or a receive. `transfer` must not move until it is done or withdrawn.
  void start(PendingMessage& transfer, uint64_t channel);
  /// Starts a send of `bytes`, a copy of the message's data.
  void post(const PendingMessage& message, std::vector<std::byte> bytes, uint64_t channel);
  /// Withdraws a transfer that is not done. Returns false if its message had begun to arrive, or if it is a send.
  bool withdraw(PendingMessage& transfer, uint64_t channel);
  /// Tells the peer why the world has failed. Drops everything that has not begun to be sent, and cuts the text to
  /// kMaxReasonBytes.
  void send_failure(const WorldFailure& failure);
  void send_leave() { enqueue({.head = {.kind = FrameHead::Kind::leave}}); }

  bool has_left() const { return has_left_; }
  /// Whether everything has been sent and, if `acknowledged`, has reached the peer's host. True without a socket.
  bool is_sent(bool acknowledged) const;

  // The functions below are for the thread that moves messages.
  void handle(uint32_t events);
  /// Fails the world if the peer has been silent for longer than `stall`. Else sends a keep-alive frame if nothing was
  /// sent for `interval` and nothing waits to be sent. Does nothing without a socket or after the peer's `leave`.
  void tick(Deadline now, Timeout stall, Timeout interval);
  /// Ignores silence until `now`.
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
  std::string reason_;  // text of a failure, while it arrives
  bool has_left_ = false, is_armed_ = false;
  Deadline heard_ = std::chrono::steady_clock::now();
};

}  // namespace partita
