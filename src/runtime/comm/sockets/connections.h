#pragma once
// The connections of one rank to all others, and the thread that moves what is on them: messages, signs of life, the
// news that the job has failed.

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/carrier.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/sockets/completions.h"
#include "runtime/comm/sockets/link.h"
#include "runtime/comm/sockets/socket.h"
#include "runtime/comm/world_state.h"

namespace partita {

struct ConnectionOptions {
  int rank = 0;
  std::vector<std::string> hosts;  // by rank, for messages
  Timeout stall{};                 // silence after which a rank is lost
};

/// Messages up to 64 KiB are sent at once, and kept by the receiver until it wants them. Longer ones wait until the
/// receiver does, and then go from the sender's buffer into the receiver's, in frames of 256 KiB: what others wait for
/// goes between them, so that both directions of a connection are in use at once. A rank whose connection ends without
/// a `leave`, or on whose connection nothing comes for the stall time, is lost: the world has failed then.
///
/// One lock guards all links. Callers hold it while they begin or withdraw messages, and write at once what the socket
/// takes; the thread holds it while it reads, writes and ticks, and not while it sleeps. `wait` and `is_done` take no
/// lock. The thread throws nothing: what it finds fails `world`.
class Connections {
 public:
  /// `links`: by rank, none to itself. Throws RuntimeFailure where the system gives no files or no thread.
  Connections(std::vector<Socket> links, ConnectionOptions options, std::shared_ptr<WorldState> world);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  int rank() const { return options_.rank; }
  int size() const { return static_cast<int>(links_.size()); }

  // As those of a carrier; `peer` is a rank of the world.
  void start(PendingMessage& transfer, int peer, uint64_t channel);
  void post(const PendingMessage& message, int peer, uint64_t channel);
  bool wait(std::deque<PendingMessage>& transfers, size_t count, Deadline until);
  /// `peers`: of the transfers, ranks of the world.
  bool withdraw(std::deque<PendingMessage>& transfers, std::span<const int> peers, uint64_t channel) noexcept;
  bool has_left(int peer);
  static bool is_done(const PendingMessage& message) { return Completions::is_done(message); }

  /// Tells all others why the world has failed; returns when they have it, or soon. Every rank does so that learns of
  /// it, so that nobody takes a rank that ends for this reason for the lost one.
  void broadcast_failure() noexcept;
  /// Nothing more is sent after this. Returns when the others have all, or after a while.
  void leave();

 private:
  void loop();
  void tick(Deadline now);
  void send_failure();
  bool is_sent(bool acknowledged);
  void await_sent(std::chrono::milliseconds most, bool acknowledged);

  const ConnectionOptions options_;
  const std::shared_ptr<WorldState> world_;
  const std::shared_ptr<Completions> completions_;
  Socket poll_, wake_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Link>> links_;
  bool stop_ = false, has_told_ = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace partita
