#pragma once
// Messages by MPI: non-blocking calls that are polled, so that a rank that waits yields its core and leaves when its
// time is over.

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/comm/carrier.h"
#include "runtime/comm/mpi/api.h"
#include "runtime/comm/mpi/posted.h"
#include "runtime/comm/world_state.h"

namespace partita {

/// Throws RuntimeFailure with the message of MPI unless `status` is success.
void check_mpi(int status, std::string_view what);

/// A send that a peer has not taken cannot be withdrawn, nor a receive that has begun: their buffers must last.
class MpiCarrier final : public Carrier {
 public:
  /// `comm` is freed with the carrier, unless the program has failed by then.
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
  /// What a request that has ended says of its message.
  static void finish(PendingMessage& transfer, int status, const MPI_Status& message);
  /// Whether a receive that was cancelled takes nothing any more.
  static bool is_cancelled(MPI_Request& request) noexcept;

  MPI_Comm comm_;
  std::shared_ptr<const WorldState> world_;
  int rank_ = 0, size_ = 1;
  PostedMessages posted_;
};

}  // namespace partita
