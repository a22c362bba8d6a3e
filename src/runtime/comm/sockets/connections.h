#pragma once
// The connections of one rank to all others, and the thread that serves them: messages, keep-alive frames, and news of
// a failure.

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
  std::vector<std::string> hosts;  // by rank, for error messages
  Timeout stall{};                 // silence after which a rank is lost
};

/// Messages of up to 64 KiB are sent at once, and the receiver keeps them until it wants them. Longer ones wait until
/// the receiver is ready, then go directly from the sender's buffer to the receiver's in frames of 256 KiB. Other
/// frames go between these, so both directions of a connection are busy at once. A rank is lost if its connection ends
/// without a `leave`, or nothing is received from it for the stall time; then the world has failed.
///
/// One lock guards all links. Callers hold it while they start or withdraw messages, and write at once what the socket
/// accepts. The thread holds it while it reads, writes and ticks, but not while it sleeps. `wait` and `is_done` take no
/// lock. The thread throws nothing: errors that it finds fail `world`.
class Connections {
 public:
  /// `links` are by rank, closed for this rank. Throws RuntimeFailure(out_of_memory) if the system provides no file
  /// descriptors or no thread.
  Connections(std::vector<Socket> links, ConnectionOptions options, std::shared_ptr<WorldState> world);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // The functions below are those of a carrier; `peer` is a world rank.
  void start(PendingMessage& transfer, int peer, uint64_t channel);
  void post(const PendingMessage& message, int peer, uint64_t channel);
  bool wait(std::deque<PendingMessage>& transfers, size_t count, Deadline until);
  /// Withdraws the transfers that are not done. Returns false if one of them is a send, or a receive for which
  /// something has arrived. `peers` has the world rank of each transfer's peer.
  bool withdraw(std::deque<PendingMessage>& transfers, std::span<const int> peers, uint64_t channel) noexcept;
  bool has_left(int peer);
  static bool is_done(const PendingMessage& message) { return Completions::is_done(message); }

  /// Tells all other ranks why the world has failed. Returns when they have received it, after 300 ms at most. Every
  /// rank that learns of the failure does this, so that no rank that ends for this reason is taken for the lost one.
  void broadcast_failure() noexcept;
  /// Sends `leave` after everything else; nothing may be sent afterwards. Returns when the other ranks have received
  /// all, after about 20 s at most.
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
  std::mutex mutex_;  // guards the members below
  std::vector<std::unique_ptr<Link>> links_;
  bool stop_ = false, has_told_ = false;
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace partita
