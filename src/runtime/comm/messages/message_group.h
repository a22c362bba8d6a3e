#pragma once
// Collectives by messages, for groups that span hosts, over any carrier.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "runtime/comm/call.h"
#include "runtime/comm/carrier.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/messages/call_messages.h"
#include "runtime/comm/messages/chain_reduce.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// The collectives and messages of one rank of a group. `carrier`, `world_ranks` and `world` outlive it. Reductions
/// combine contributions in group order. Detects mismatched calls from split membership, message sizes and, if the
/// carrier supports labels, the message label. CallMessages says what follows a failed call.
class MessageGroup {
 public:
  /// `is_gone` returns whether a rank of the world has ended; false if that cannot be detected.
  MessageGroup(Carrier& carrier, std::span<const int> world_ranks, const WorldState& world,
               std::function<bool(int rank)> is_gone);

  MessageGroup(const MessageGroup&) = delete;
  MessageGroup& operator=(const MessageGroup&) = delete;

  /// Runs the collective `call` of this rank: any kind but send, recv and leave, for which it throws InternalError. A
  /// split compares the members of the groups. Throws RankFailures, and RuntimeFailure if the carrier fails and after a
  /// failed call (peer_stalled).
  void run(const Call& call, Timeout timeout);
  void send(const Call& call, int to, Timeout timeout);
  /// Copies the message and sends it in the background. Throws RuntimeFailure if the world or the carrier has failed,
  /// or after a failed call (peer_stalled).
  void post(const Call& call, int to) { messages_.post(call, to); }
  void recv(const Call& call, int from, Timeout timeout);
  /// Does the part of this rank in a reduction that passes from host to host, which `part` describes. Throws as `run`
  /// does.
  void chain_reduce(const Call& call, const ChainPart& part, Timeout timeout);
  /// Runs a part of a collective in which each rank knows what it sends to and receives from whom. Returns when these
  /// messages are done. Pieces without bytes are skipped. Throws as `run` does.
  void move(const Call& call, std::span<const MessagePiece> sends, std::span<const MessagePiece> receives,
            Timeout timeout);
  /// Makes every further call throw RuntimeFailure(peer_stalled), `post` included, after a step of a collective failed
  /// that ranks of a host run without messages.
  void refuse() { messages_.refuse(); }
  /// Makes the last call; returns when all ranks have made it, without a timeout. A rank in another call detects that
  /// from the message size. Throws as `run` does.
  void leave();

 private:
  void all_reduce(const Call& call);
  void reduce_parts(const Call& call, std::byte* data, int64_t count);
  void reduce_scatter(const Call& call, const void* send, void* recv, std::span<const int64_t> counts);
  void all_gather(const Call& call, const void* own, void* all, std::span<const int64_t> counts);
  void all_to_all(const Call& call);
  void broadcast(const Call& call);
  void barrier(int64_t bytes);
  void compare_members(const Call& call);
  /// Sends a piece to every rank, receives one from every rank, and waits for all; this rank's own is copied. `give(r)`
  /// and `take(r)` return the buffers; each is called once per rank, in rank order. Throws RuntimeFailure as `run`
  /// does.
  template <class Give, class Take>
  void exchange(Give give, Take take);

  CallMessages messages_;
  const int rank_, size_;
  ReduceBuffers buffers_;
};

}  // namespace partita
