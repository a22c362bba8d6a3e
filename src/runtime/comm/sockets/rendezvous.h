#pragma once
// Connects the ranks of a job: rank 0 listens at a known address, all others call it, and it tells all ranks where each
// one is. Then every pair makes a connection.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/sockets/gate.h"
#include "runtime/comm/sockets/socket.h"

namespace partita {

struct RendezvousOptions {
  int rank = 0, size = 1;
  Endpoint master{};  // address at which rank 0 listens
  int listener = -1;  // rank 0 only: a socket that already listens there, which `meet` takes over; -1: `meet` makes one
  std::string address = "";  // address at which this rank listens; "": the one from which it reaches rank 0
  uint64_t host_key = 0;
  std::string host = "";  // name of this host
  Timeout timeout{};      // for a rank that does not arrive or answer
  /// Returns the signal that asks this process to end, or 0. Polled from time to time. Null if it cannot be asked.
  std::function<int()> stop_signal{};
};

struct Rendezvous {
  std::vector<Socket> links;       // by rank; closed for this rank
  std::vector<std::string> hosts;  // by rank
};

/// The error of a job that does not begin because of one rank, or of several ranks, of which it names the first.
class RankMissed : public RuntimeFailure {
 public:
  RankMissed(ExitCode code, int rank, const std::string& text) : RuntimeFailure(code, text), rank_(rank) {}
  int rank() const { return rank_; }

 private:
  int rank_;
};

/// Connects all ranks. A collective call over the ranks of the job. If a rank does not arrive, or ends, every rank that
/// takes part throws RuntimeFailure, naming it; ranks that miss it themselves throw RankMissed. Other RuntimeFailures:
/// ranks_disagree for ranks of another size, secret or run, or a rank that joins twice; the exit code of a signal that
/// `stop_signal` returns; usage if this rank is to listen at an address of another host; peer_lost if it cannot listen
/// for another reason or a host has no address now; internal without random bytes.
Rendezvous meet(const RendezvousOptions& options, const JobKey& key);

}  // namespace partita
