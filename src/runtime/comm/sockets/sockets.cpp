#include "runtime/comm/sockets/sockets.h"

#include <numeric>

#include "base/error.h"
#include "runtime/comm/processes/communicator.h"
#include "runtime/comm/processes/host.h"
#include "runtime/comm/sockets/connections.h"
#include "runtime/comm/sockets/rendezvous.h"

namespace partita {
namespace {

class SocketCarrier final : public Carrier {
 public:
  SocketCarrier(std::shared_ptr<Connections> connections, uint64_t channel, int rank, std::vector<int> world_ranks)
      : connections_(std::move(connections)), channel_(channel), rank_(rank), world_ranks_(std::move(world_ranks)) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_ranks_.size()); }
  bool has_left(int peer) const override { return connections_->has_left(world_ranks_[peer]); }
  void start(PendingMessage& transfer) override {
    connections_->start(transfer, world_ranks_[transfer.peer], channel_);
  }
  void post(const PendingMessage& message) override {
    connections_->post(message, world_ranks_[message.peer], channel_);
  }
  bool wait(std::deque<PendingMessage>& transfers, size_t count, Deadline until) override {
    return connections_->wait(transfers, count, until);
  }
  bool is_done(const PendingMessage& message) const override { return Connections::is_done(message); }
  bool withdraw(std::deque<PendingMessage>& transfers) noexcept override {
    std::vector<int> peers;
    for (const PendingMessage& transfer : transfers) peers.push_back(world_ranks_[transfer.peer]);
    return connections_->withdraw(transfers, peers, channel_);
  }
  std::unique_ptr<Carrier> split(uint64_t id, std::span<const int> members) override {
    std::vector<int> ranks;
    int place = 0;
    for (const int member : members) {
      if (member == rank_) place = static_cast<int>(ranks.size());
      ranks.push_back(world_ranks_[member]);
    }
    return std::make_unique<SocketCarrier>(connections_, id, place, std::move(ranks));
  }

 private:
  const std::shared_ptr<Connections> connections_;
  const uint64_t channel_;
  const int rank_;
  const std::vector<int> world_ranks_;
};

/// Runs `meet` and records its failure, if there is a record: a job that does not begin is part of it too. Throws
/// RuntimeFailure as `meet` does: if ranks do not arrive, are lost or disagree, or this process is asked to end.
Rendezvous meet_recorded(const RendezvousOptions& options, const JobKey& key, FlightRecord* record) {
  try {
    return meet(options, key);
  } catch (const RankMissed& error) {
    if (record != nullptr) record->fail(error.code(), error.rank(), error.what());
    throw;
  } catch (const Error& error) {
    if (record != nullptr) record->fail(error.code(), -1, error.what());
    throw;
  }
}

}  // namespace

std::unique_ptr<Communicator> make_socket_world(const SocketWorldOptions& options) {
  constexpr int kOwnFiles = 32;  // in addition to a connection to each rank
  require_open_files("sockets", options.size + kOwnFiles, fmt::format("{} ranks", options.size));
  const JobKey key(options.secret, options.run);
  const std::string host = options.host.empty() ? host_name() : options.host;
  uint64_t shared_memory = host_key();
  for (const unsigned char c : options.host) shared_memory = (shared_memory ^ c) * 1099511628211ULL;
  Rendezvous met = meet_recorded({.rank = options.rank,
                                  .size = options.size,
                                  .master = parse_endpoint("rendezvous", options.master),
                                  .listener = options.listener,
                                  .address = options.address,
                                  .host_key = shared_memory,
                                  .host = host,
                                  .timeout = options.start_timeout,
                                  .stop_signal = options.stop_signal},
                                 key, options.record.get());
  auto state = std::make_shared<WorldState>(options.size);
  auto connections = std::make_shared<Connections>(
      std::move(met.links),
      ConnectionOptions{.rank = options.rank, .hosts = std::move(met.hosts), .stall = options.stall_timeout}, state);
  std::vector<int> ranks(options.size);
  std::iota(ranks.begin(), ranks.end(), 0);
  return make_process_communicator(
      {.carrier = std::make_unique<SocketCarrier>(connections, /*channel=*/1, options.rank, std::move(ranks)),
       .state = state,
       .record = options.record,
       .host_key = shared_memory,
       .broadcast_failure = [connections](const std::string&, ExitCode) { connections->broadcast_failure(); },
       .finalize = [connections] { connections->leave(); },
       .on_failed_end = options.on_failed_end});
}

}  // namespace partita
