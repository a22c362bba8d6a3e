#pragma once
// Messages by MPI. Non-blocking calls are polled, so that a waiting rank yields its core and leaves when its time is
// over.

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/comm/carrier.h"
#include "runtime/comm/mpi/api.h"
#include "runtime/comm/mpi/posted.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// Checks the result of an MPI call, which `what` names. Throws RuntimeFailure, with MPI's message, unless `status` is
/// success; its code is out_of_memory if MPI lacks memory, else peer_lost.
void check_mpi(int status, std::string_view what);

/// A send that the peer has not received cannot be withdrawn, nor a receive that has begun. Their buffers must stay
/// valid.
class MpiCarrier final : public Carrier {
 public:
  /// The carrier frees `comm`, unless it is the world's, or the program has failed or MPI has ended by then.
  MpiCarrier(MPI_Comm comm, std::shared_ptr<const WorldState> world);
  ~MpiCarrier() override;
  MpiCarrier(const MpiCarrier&) = delete;
  MpiCarrier& operator=(const MpiCarrier&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void start(PendingMessage& transfer) override;
  void post(const PendingMessage& message) override;
  bool wait(std::deque<PendingMessage>& transfers, size_t count, Deadline until) override;
  bool withdraw(std::deque<PendingMessage>& transfers) noexcept override;
  std::unique_ptr<Carrier> split(uint64_t id, std::span<const int> members) override;

 private:
  bool test(std::deque<PendingMessage>& transfers, size_t count);
  /// Stores the result of a completed request in its message. Throws as check_mpi does, except for a received message
  /// that is too long, which it marks.
  static void finish(PendingMessage& transfer, int status, const MPI_Status& message);
  /// Waits until a cancelled receive has ended, at most 200 ms. Returns whether it took no message; false also if it
  /// has not ended.
  static bool is_cancelled(MPI_Request& request) noexcept;

  MPI_Comm comm_;
  std::shared_ptr<const WorldState> world_;
  int rank_ = 0, size_ = 1;
  PostedMessages posted_;
};

}  // namespace partita
