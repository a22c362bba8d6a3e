#pragma once
// How the ranks of a job find one another: rank 0 listens at a known address, all others call it, and it tells all
// where each is. Then every pair has a connection.

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
  Endpoint master{};         // where rank 0 listens
  int listener = -1;         // of rank 0: a socket that listens there already, which it takes; -1: it makes one
  std::string address = "";  // this rank listens here; "": at the address from which it reaches rank 0
  uint64_t host_key = 0;
  std::string host = "";  // the name of this host
  Timeout timeout{};      // for a rank that does not come, or does not answer
  /// The signal that asks this process to end, looked at from time to time; 0: none. None: it cannot be asked.
  std::function<int()> stop_signal{};
};

struct Rendezvous {
  std::vector<Socket> links;       // by rank; none to itself
  std::vector<std::string> hosts;  // by rank
};

/// Of a job that does not begin because of one rank, or of several of which this is the first.
class RankMissed : public RuntimeFailure {
 public:
  RankMissed(ExitCode code, int rank, const std::string& text) : RuntimeFailure(code, text), rank_(rank) {}
  int rank() const { return rank_; }

 private:
  int rank_;
};

/// Collective over the ranks of the job. Throws RuntimeFailure on every rank that takes part when one does not come, or
/// ends, naming it: RankMissed on those that miss it themselves.
Rendezvous meet(const RendezvousOptions& options, const JobKey& key);

}  // namespace partita
