#pragma once
// Collectives by messages, for groups that span hosts, over whatever carries the bytes.

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

/// The collectives and messages of one rank of a group; `carrier`, `world_ranks` and `world` outlive it. Reductions add
/// contributions in group order. Of the calls of ranks splits are compared, the sizes of messages, and, where the
/// carrier brings them, what the call of a message is. What a call that fails leaves behind: CallMessages.
class MessageGroup {
 public:
  /// `is_gone`: whether a rank of the world has ended, where that can be seen.
  MessageGroup(Carrier& carrier, std::span<const int> world_ranks, const WorldState& world,
               std::function<bool(int rank)> is_gone);

  MessageGroup(const MessageGroup&) = delete;
  MessageGroup& operator=(const MessageGroup&) = delete;

  /// The collective `call` of this rank; all kinds but send and recv. A split compares who is in which group.
  void run(const Call& call, Timeout timeout);
  void send(const Call& call, int to, Timeout timeout);
  /// Copies the message and sends it while this rank does other things.
  void post(const Call& call, int to) { messages_.post(call, to); }
  void recv(const Call& call, int from, Timeout timeout);
  /// The part of this rank in a reduction that goes from host to host.
  void chain_reduce(const Call& call, const ChainPart& part, Timeout timeout);
  /// A part of a collective whose ranks know what they have to bring to whom. Pieces without bytes are none.
  void move(const Call& call, std::span<const MessagePiece> sends, std::span<const MessagePiece> receives,
            Timeout timeout);
  /// A step of a collective that others of the host took without messages has failed: every further call does.
  void refuse() { messages_.refuse(); }
  /// The last call: returns when all ranks make it. A rank that makes another one learns so by the size of the message.
  void leave();

 private:
  using Bytes = CallMessages::Bytes;

  void all_reduce(const Call& call);
  void reduce_parts(const Call& call, std::byte* data, int64_t count);
  void reduce_scatter(const Call& call, const void* send, void* recv, std::span<const int64_t> counts);
  void all_gather(const Call& call, const void* own, void* all, std::span<const int64_t> counts);
  void all_to_all(const Call& call);
  void broadcast(const Call& call);
  void barrier(int64_t bytes);
  void compare_members(const Call& call);
  /// Every rank sends a piece to, and gets one from, every rank; its own is copied.
  template <class Give, class Take>
  void exchange(Give give, Take take);

  CallMessages messages_;
  const int rank_, size_;
  ReduceBuffers buffers_;
};

}  // namespace partita
