#pragma once
// Collectives by messages, for groups that span hosts, over whatever carries the bytes.

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "comm/call.h"
#include "comm/carrier.h"
#include "comm/communicator.h"
#include "comm/event_count.h"
#include "comm/world_state.h"

namespace partita {

/// At least so many bytes, whatever they hold.
inline void make_room(std::vector<std::byte>& buffer, int64_t bytes) {
  if (static_cast<int64_t>(buffer.size()) < bytes) buffer.resize(static_cast<size_t>(bytes));
}

/// A part of a buffer that goes to, or comes from, a rank of a group.
struct MessagePiece {
  int peer = -1;
  void* data = nullptr;
  int64_t bytes = 0;
};

/// A part of a reduction whose contributions lie one host behind the other in group order. This rank has those of its
/// host in `own`, `count` elements each, gets the sum of the hosts before it from rank `previous` and sends it on to
/// `next` with its own, chunk by chunk. None: -1.
struct ChainPart {
  static constexpr int64_t kChunkBytes = int64_t{256} << 10;

  std::span<const void* const> own;
  int64_t count = 0;
  void* result = nullptr;
  int previous = -1, next = -1;
  bool returns = false;  // the sum goes back the same way, to `result` of every host; else that of the last has it
  std::span<const MessagePiece> sends{};     // parts of the last host's result in its order, sent as they are made
  std::span<const MessagePiece> receives{};  // what others send so
};

/// The messages of one rank of a group; `carrier`, `world_ranks` and `world` outlive it. Messages longer than a carrier
/// takes go in pieces. Reductions add contributions in group order. Of the calls of ranks splits are compared, the
/// sizes of messages, and, where the carrier brings them, what the call of a message is. When a call fails its receives
/// are withdrawn; after a collective that failed, or a message that was lost, every further call does, since the
/// messages of ranks no longer belong together.
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
  void post(const Call& call, int to);
  void recv(const Call& call, int from, Timeout timeout);
  /// The part of this rank in a reduction that goes from host to host.
  void chain_reduce(const Call& call, const ChainPart& part, Timeout timeout);
  /// A part of a collective whose ranks know what they have to bring to whom. Pieces without bytes are none.
  void move(const Call& call, std::span<const MessagePiece> sends, std::span<const MessagePiece> receives,
            Timeout timeout);
  /// A step of a collective that others of the host took without messages has failed: every further call does.
  void refuse() { failed_ = true; }
  /// The last call: returns when all ranks make it. A rank that makes another one learns so by the size of the message.
  void leave();

 private:
  struct Piece {
    void* data = nullptr;
    int64_t bytes = 0;
  };

  void all_reduce(const Call& call);
  void reduce_parts(const Call& call, std::byte* data, int64_t count);
  void reduce_scatter(const Call& call, const void* send, void* recv, std::span<const int64_t> counts);
  void all_gather(const Call& call, const void* own, void* all, std::span<const int64_t> counts);
  void all_to_all(const Call& call);
  void broadcast(const Call& call);
  void barrier(int64_t bytes);
  void compare_members(const Call& call);

  /// Runs `body` as the call. When it throws, withdraws what it began, and refuses further calls after one that is
  /// `for_all` ranks.
  template <class Body>
  void begin(const Call& call, Timeout timeout, Body body, bool for_all = false);
  MessageLabel label() const;
  void start_send(const Piece& piece, int to, int tag);
  void start_receive(const Piece& piece, int from, int tag);
  /// Every rank sends a piece to, and gets one from, every rank; its own is copied.
  template <class Give, class Take>
  void exchange(Give give, Take take);
  /// Until all that was started is done, or the first `count`, which is then not forgotten.
  void wait();
  void wait(size_t count);
  void run_chain(const Call& call, const ChainPart& part);
  /// Throws unless what came is what this rank expects.
  void check_came() const;
  /// Throws when a message is waited for from, or by, a rank that has gone.
  void look_for_lost() const;
  [[noreturn]] void give_up() const;
  void withdraw() noexcept;

  Carrier& carrier_;
  std::span<const int> world_ranks_;
  const WorldState& world_;
  std::function<bool(int)> is_gone_;
  const int rank_, size_;
  std::deque<PendingMessage> pending_;
  // What a reduction needs besides its buffers; kept from call to call, as the list above.
  std::vector<std::byte> own_, parts_;
  std::vector<const void*> sources_;

  // Of the present call.
  const Call* call_ = nullptr;
  Timeout timeout_{};
  Deadline deadline_;
  bool failed_ = false;
};

}  // namespace partita
