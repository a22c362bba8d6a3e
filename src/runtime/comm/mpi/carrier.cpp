#include "runtime/comm/mpi/carrier.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>

#include "base/error.h"

namespace partita {
namespace {

constexpr int kPolls = 200;  // polls before a waiting rank yields
constexpr std::chrono::milliseconds kCancelTime{200};

/// MPI's handle of a transfer, a pointer or a number.
MPI_Request& request_of(PendingMessage& transfer) {
  static_assert(sizeof(MPI_Request) <= sizeof transfer.own && alignof(MPI_Request) <= alignof(PendingMessage));
  return *reinterpret_cast<MPI_Request*>(transfer.own.data());
}

}  // namespace

void check_mpi(int status, std::string_view what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0, kind = MPI_SUCCESS;
  mpi().error_string(status, text, &length);
  mpi().error_class(status, &kind);
  throw RuntimeFailure(kind == MPI_ERR_NO_MEM ? ExitCode::out_of_memory : ExitCode::peer_lost,
                       fmt::format("[mpi] {} failed: {}", what, std::string_view(text, length)));
}

MpiCarrier::MpiCarrier(MPI_Comm comm, std::shared_ptr<const WorldState> world)
    : comm_(comm), world_(std::move(world)), posted_(comm) {
  mpi().comm_set_errhandler(comm, mpi().errors_return);
  mpi().comm_rank(comm, &rank_);
  mpi().comm_size(comm, &size_);
}

MpiCarrier::~MpiCarrier() {
  int is_over = 0;
  mpi().finalized(&is_over);
  // Freeing waits for the other ranks, which may have ended.
  if (std::uncaught_exceptions() > 0 || is_over != 0 || world_->is_aborted() || comm_ == mpi().comm_world) return;
  mpi().comm_free(&comm_);
}

void MpiCarrier::start(PendingMessage& transfer) {
  MPI_Request& request = request_of(transfer) = mpi().request_null;
  const int bytes = static_cast<int>(transfer.bytes);
  if (transfer.way == PendingMessage::Way::send) {
    check_mpi(mpi().isend(transfer.data, bytes, mpi().byte, transfer.peer, transfer.tag, comm_, &request), "send");
  } else {
    check_mpi(mpi().irecv(transfer.data, bytes, mpi().byte, transfer.peer, transfer.tag, comm_, &request), "receive");
  }
}

void MpiCarrier::post(const PendingMessage& message) {
  posted_.post(message.data, message.bytes, message.peer, message.tag);
}

void MpiCarrier::finish(PendingMessage& transfer, int status, const MPI_Status& message) {
  transfer.done = true;
  if (transfer.way == PendingMessage::Way::send) return check_mpi(status, "send");
  int kind = MPI_SUCCESS, received = 0;
  if (status != MPI_SUCCESS) mpi().error_class(status, &kind);
  transfer.too_long = kind == MPI_ERR_TRUNCATE;
  if (!transfer.too_long) check_mpi(status, "receive");
  mpi().get_count(&message, mpi().byte, &received);
  transfer.received = received;
}

bool MpiCarrier::test(std::deque<PendingMessage>& transfers, size_t count) {
  size_t done_first = 0;
  bool all = true;
  for (size_t i = 0; i < transfers.size(); ++i) {
    PendingMessage& transfer = transfers[i];
    if (!transfer.done) {
      MPI_Status message;
      int done = 0;
      const int status = mpi().test(&request_of(transfer), &done, &message);
      if (done != 0 || status != MPI_SUCCESS) finish(transfer, status, message);
      // Reports a message that does not fit now, before waiting for others that may never arrive.
      if (transfer.too_long) return true;
    }
    all = all && transfer.done;
    if (all) done_first = i + 1;
  }
  return done_first >= count;
}

bool MpiCarrier::wait(std::deque<PendingMessage>& transfers, size_t count, Deadline until) {
  for (int64_t polls = 0; !test(transfers, count); ++polls) {
    if (polls < kPolls) continue;
    std::this_thread::yield();
    if (world_->is_aborted() || std::chrono::steady_clock::now() >= until) return test(transfers, count);
  }
  return true;
}

bool MpiCarrier::is_cancelled(MPI_Request& request) noexcept {
  MPI_Status status;
  int done = 0, cancelled = 0;
  // A receive that has begun, from a peer that stopped or has ended, may never complete.
  for (const Deadline end = deadline_after(kCancelTime); done == 0;) {
    mpi().test(&request, &done, &status);
    if (done == 0 && std::chrono::steady_clock::now() >= end) {
      mpi().request_free(&request);
      return false;
    }
  }
  mpi().test_cancelled(&status, &cancelled);
  return cancelled != 0;  // else its message has just arrived, and is lost
}

bool MpiCarrier::withdraw(std::deque<PendingMessage>& transfers) noexcept {
  bool clean = true;
  for (PendingMessage& transfer : transfers) {
    if (transfer.done || request_of(transfer) == mpi().request_null) continue;
    if (transfer.way == PendingMessage::Way::send) {  // cannot be withdrawn
      mpi().request_free(&request_of(transfer));
      clean = false;
      continue;
    }
    mpi().cancel(&request_of(transfer));
    if (!is_cancelled(request_of(transfer))) clean = false;
  }
  return clean;
}

std::unique_ptr<Carrier> MpiCarrier::split(uint64_t, std::span<const int> members) {
  const auto place = std::find(members.begin(), members.end(), rank_) - members.begin();
  MPI_Comm group = mpi().comm_null;
  check_mpi(mpi().comm_split(comm_, members.front(), static_cast<int>(place), &group), "split");
  return std::make_unique<MpiCarrier>(group, world_);
}

}  // namespace partita
