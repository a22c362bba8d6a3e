// Ranks on one host speak through memory that they share, others through messages; a group that spans hosts uses
// messages throughout, since sums are formed in group order.

#include <mpi.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "comm/checks.h"
#include "comm/mpi/messages.h"
#include "comm/mpi/mpi.h"
#include "comm/mpi/window.h"
#include "comm/shared_memory/stage.h"

namespace partita {
namespace {

HostPlace place_on_host(MPI_Comm comm) {
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "split by host");
  HostPlace place;
  MPI_Comm_rank(host, &place.rank);
  MPI_Comm_size(host, &place.size);
  MPI_Comm_free(&host);
  return place;
}

class MpiCommunicator final : public Communicator {
 public:
  /// `host`: this process among those of the world; none for the world itself.
  MpiCommunicator(MPI_Comm comm, std::vector<int> world_ranks, std::optional<HostPlace> host)
      : comm_(comm), is_world_(!host), world_ranks_(std::move(world_ranks)), messages_(comm, world_ranks_) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const HostPlace own = place_on_host(comm);
    host_ = host.value_or(own);
    if (size() > 1 && all_agree(own.size == size())) share_memory();
  }
  ~MpiCommunicator() override {
    // A process that ends with an error must not wait for the others; the launcher then ends them.
    if (std::uncaught_exceptions() > 0) {
      static_cast<void>(window_.release());
      return;
    }
    window_.reset();
    if (is_world_) {
      MPI_Finalize();
    } else {
      MPI_Comm_free(&comm_);
    }
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_ranks_.size()); }
  std::span<const int> world_ranks() const override { return world_ranks_; }
  HostPlace host_place() const override { return host_; }
  CommCapabilities capabilities() const override { return {.backend = "mpi"}; }

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override {
    check_members(members, rank_, size());
    barrier(timeout);  // the split itself has no time-out: all shall be here when it begins
    const auto at = std::find(members.begin(), members.end(), rank_);
    std::vector<int> world_ranks;
    for (const int member : members) world_ranks.push_back(world_ranks_[member]);
    MPI_Comm group = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(comm_, members.front(), static_cast<int>(at - members.begin()), &group), "split");
    return std::make_unique<MpiCommunicator>(group, std::move(world_ranks), host_);
  }

  void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) override {
    check_count("all_reduce", count);
    check_buffer("all_reduce", data, count);
    check_reduce("all_reduce", reduce);
    run({.kind = Call::Kind::all_reduce, .dtype = dtype, .reduce = reduce, .count = count, .recv = data}, timeout);
  }

  void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                  Timeout timeout) override {
    const int64_t total = checked_sum("all_gather", counts, size());
    check_buffer("all_gather", send, counts[rank_]);
    check_buffer("all_gather", recv, total);
    run({.kind = Call::Kind::all_gather, .dtype = dtype, .count = total, .counts = counts, .send = send, .recv = recv},
        timeout);
  }

  void reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                      Timeout timeout) override {
    const int64_t total = checked_sum("reduce_scatter", counts, size());
    check_buffer("reduce_scatter", send, total);
    check_buffer("reduce_scatter", recv, counts[rank_]);
    check_reduce("reduce_scatter", reduce);
    run({.kind = Call::Kind::reduce_scatter,
         .dtype = dtype,
         .reduce = reduce,
         .count = total,
         .counts = counts,
         .send = send,
         .recv = recv},
        timeout);
  }

  void all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                  std::span<const int64_t> recv_counts, DType dtype, Timeout timeout) override {
    const int64_t sent = checked_sum("all_to_all", send_counts, size());
    check_buffer("all_to_all", send, sent);
    check_buffer("all_to_all", recv, checked_sum("all_to_all", recv_counts, size()));
    run({.kind = Call::Kind::all_to_all,
         .dtype = dtype,
         .count = sent,
         .counts = send_counts,
         .recv_counts = recv_counts,
         .send = send,
         .recv = recv},
        timeout);
  }

  void broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout) override {
    check_count("broadcast", count);
    check_buffer("broadcast", data, count);
    check_peer("broadcast", root, size());
    run({.kind = Call::Kind::broadcast, .dtype = dtype, .root = root, .count = count, .recv = data}, timeout);
  }

  void send(const void* data, int64_t count, DType dtype, int to, Timeout timeout) override {
    check_count("send", count);
    check_buffer("send", data, count);
    check_peer("send", to, size());
    messages_.send({.kind = Call::Kind::send, .dtype = dtype, .count = count, .send = data}, to, timeout);
  }

  void recv(void* data, int64_t count, DType dtype, int from, Timeout timeout) override {
    check_count("recv", count);
    check_buffer("recv", data, count);
    check_peer("recv", from, size());
    messages_.recv({.kind = Call::Kind::recv, .dtype = dtype, .count = count, .recv = data}, from, timeout);
  }

  void barrier(Timeout timeout) override { run({}, timeout); }

  void abort(const std::string& message, ExitCode code) noexcept override {
    std::cerr << "partita: error: " + message + "\n" << std::flush;
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  }

 private:
  bool all_agree(bool own) const {
    int here = own ? 1 : 0, everywhere = 0;
    check_mpi(MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm_), "all_reduce");
    return everywhere == 1;
  }

  void share_memory() {
    window_ = std::make_unique<SharedWindow>(comm_, SharedStage::bytes(size()));
    if (window_->data() == nullptr) return;
    if (rank_ == 0) SharedStage::prepare(window_->data(), size());
    check_mpi(MPI_Barrier(comm_), "barrier");
    stage_.emplace(window_->data(), rank_, world_ranks_, host_.size);
  }

  void run(const Call& call, Timeout timeout) {
    if (stage_) {
      stage_->run(call, timeout);
    } else {
      messages_.run(call, timeout);
    }
  }

  MPI_Comm comm_;
  bool is_world_;
  int rank_ = 0;
  HostPlace host_;
  std::vector<int> world_ranks_;
  MessageGroup messages_;
  std::unique_ptr<SharedWindow> window_;
  std::optional<SharedStage> stage_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_world() {
  int given = 0;
  // The communication of gradients has a thread of its own.
  const int status = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &given);
  if (status != MPI_SUCCESS || given < MPI_THREAD_MULTIPLE) {
    throw RuntimeFailure(ExitCode::peer_lost,
                         fmt::format("[mpi] cannot start, got status {} and thread level {}, expected 0 and {}", status,
                                     given, MPI_THREAD_MULTIPLE));
  }
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<int> ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, std::move(ranks), std::nullopt);
}

}  // namespace partita
