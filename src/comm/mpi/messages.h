#pragma once
// Collectives by messages, for groups that span hosts: non-blocking MPI calls that are polled, so that a rank that
// waits yields its core and leaves when its time is over.

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "comm/call.h"
#include "comm/communicator.h"
#include "comm/event_count.h"
#include "comm/mpi/posted.h"

namespace partita {

/// Throws RuntimeFailure with the message of MPI unless `status` is success.
void check_mpi(int status, std::string_view what);

/// The messages of one rank of a group; `comm` and `world_ranks` outlive it. Messages longer than an MPI call takes go
/// in pieces. Reductions add contributions in group order. Of the calls of ranks only splits are compared, and the
/// sizes of messages. When a call fails its receives are withdrawn; a send that a peer has not taken stays, and so does
/// a receive that has begun, so that their buffers must last. After a collective that failed, or a message that was
/// lost, every further call does, since the messages of ranks no longer belong together.
class MessageGroup {
 public:
  /// `is_gone`: whether a rank of the world has ended, where that can be seen.
  MessageGroup(MPI_Comm comm, std::span<const int> world_ranks, std::function<bool(int rank)> is_gone);

  MessageGroup(const MessageGroup&) = delete;
  MessageGroup& operator=(const MessageGroup&) = delete;

  /// The collective `call` of this rank; all kinds but send and recv. A split compares who is in which group.
  void run(const Call& call, Timeout timeout);
  void send(const Call& call, int to, Timeout timeout);
  /// Copies the message and sends it while this rank does other things.
  void post(const Call& call, int to);
  void recv(const Call& call, int from, Timeout timeout);
  /// The last call: returns when all ranks make it. A rank that makes another one learns so by the size of the message.
  void leave();

 private:
  struct Piece {
    void* data = nullptr;
    int64_t bytes = 0;
  };
  struct Pending {
    MPI_Request request;
    int peer;
    int64_t expected = -1;  // bytes of a receive
  };

  void all_reduce(const Call& call);
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
  void start_send(const Piece& piece, int to, int tag);
  void start_receive(const Piece& piece, int from, int tag);
  /// Every rank sends a piece to, and gets one from, every rank; its own is copied.
  template <class Give, class Take>
  void exchange(Give give, Take take);
  /// Until all that was started is done.
  void wait();
  void check_sizes() const;
  /// Throws what MPI says of the requests.
  void throw_failure() const;
  /// Throws when a message is waited for from, or by, a rank that has gone.
  void look_for_lost();
  /// Throws unless all came just now.
  void give_up();
  void withdraw() noexcept;
  /// Whether a receive that was cancelled takes nothing any more.
  static bool is_cancelled(MPI_Request& request) noexcept;

  MPI_Comm comm_;
  std::span<const int> world_ranks_;
  std::function<bool(int)> is_gone_;
  int rank_ = 0, size_ = 1;
  std::vector<Pending> pending_;
  std::vector<MPI_Request> requests_;  // those of pending_, as an array for MPI
  std::vector<MPI_Status> statuses_;
  // What a reduction needs besides its buffers; kept from call to call, as the lists above.
  std::vector<std::byte> own_, parts_;
  std::vector<int64_t> counts_;
  std::vector<const void*> sources_;

  PostedMessages posted_;

  // Of the present call.
  const Call* call_ = nullptr;
  Timeout timeout_{};
  Deadline deadline_;
  bool failed_ = false;
};

}  // namespace partita
