// Ranks on one host communicate through shared memory, others by messages; a group that spans hosts uses
// messages throughout, since sums are formed in group order.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <numeric>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/resources.h"
#include "comm/checked_communicator.h"
#include "comm/mpi/messages.h"
#include "comm/mpi/mpi.h"
#include "comm/shared_memory/communicator.h"
#include "comm/shared_memory/presence.h"
#include "comm/shared_memory/segment.h"

namespace partita {
namespace {

/// An error that all ranks meet alike is reported by the first.
constexpr std::chrono::milliseconds kPatience{800};

/// The processes of a communicator that are on this host, to be given back.
MPI_Comm on_this_host(MPI_Comm comm) {
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "split by host");
  return host;
}

bool all_agree(MPI_Comm comm, bool own) {
  int here = own ? 1 : 0, everywhere = 0;
  check_mpi(MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm), "all_reduce");
  return everywhere == 1;
}

/// A name that rank 0 of `comm` gives to all; "" for none.
std::string broadcast_name(MPI_Comm comm, const std::string& name) {
  std::array<char, 64> text{};
  name.copy(text.data(), text.size() - 1);
  check_mpi(MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, comm), "broadcast");
  return text.data();
}

/// What a process knows of the other processes on its host, for as long as there is a world.
struct Host {
  HostPlace place;
  std::vector<int> ranks;            // of the world, sorted
  std::optional<Presence> presence;  // of all of them or none
  std::unique_ptr<Outbox> outbox = std::make_unique<Outbox>();

  bool has(int rank) const { return std::binary_search(ranks.begin(), ranks.end(), rank); }
  /// Whether a rank of the world ran on this host and does so no more.
  bool is_gone(int rank) const { return presence && has(rank) && presence->is_gone(rank); }
};

std::shared_ptr<const Host> find_host(MPI_Comm world, int rank) {
  Host host;
  MPI_Comm on_host = on_this_host(world);
  MPI_Comm_rank(on_host, &host.place.rank);
  MPI_Comm_size(on_host, &host.place.size);
  host.ranks.resize(host.place.size);
  check_mpi(MPI_Allgather(&rank, 1, MPI_INT, host.ranks.data(), 1, MPI_INT, on_host), "all_gather");
  std::sort(host.ranks.begin(), host.ranks.end());
  if (host.place.rank == 0) host.presence = Presence::create();
  const std::string name = broadcast_name(on_host, host.presence ? host.presence->name() : "");
  if (host.place.rank != 0 && !name.empty()) host.presence = Presence::open(name);
  const bool here = all_agree(on_host, host.presence && host.presence->enter(rank));
  if (host.place.rank == 0 && host.presence) host.presence->unlink();
  if (!here) host.presence.reset();
  MPI_Comm_free(&on_host);
  return std::make_shared<const Host>(std::move(host));
}

class MpiCommunicator final : public CheckedCommunicator {
 public:
  /// `host`: that of the world; none for the world itself.
  MpiCommunicator(MPI_Comm comm, int rank, const std::vector<int>& ranks, std::shared_ptr<const Host> host)
      : CheckedCommunicator(rank, ranks),
        comm_(comm),
        is_world_(host == nullptr),
        host_(is_world_ ? find_host(comm, rank) : std::move(host)),
        messages_(comm, world_ranks(), *host_->outbox, [this](int peer) { return host_->is_gone(peer); }) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const bool near = std::all_of(ranks.begin(), ranks.end(), [&](int other) { return host_->has(other); });
    if (all_agree(comm, near) && size() > 1 && size() <= SharedMemoryCommunicator::kMostRanks) share_memory();
  }
  ~MpiCommunicator() override {
    // A process that ends with an error must not wait for the others; the launcher then ends them.
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (std::uncaught_exceptions() > 0 || is_over != 0) return;
    host_->outbox->move_on();
    if (shared_) shared_->leave();
    if (is_world_) {
      leave_together();
      MPI_Finalize();
    } else {
      MPI_Comm_free(&comm_);
    }
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  HostPlace host_place() const override { return host_->place; }

  void abort(const std::string& message, ExitCode code) noexcept override {
    std::cout.flush();  // MPI ends the process as it is
    std::cerr << "partita: error: " << message << "\n" << std::flush;
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  }

 private:
  /// Whoever is still in a call must not wait for this process, which ends. Ranks in shared memory see that it has
  /// left.
  void leave_together() noexcept {
    try {
      if (!shared_ && size() > 1) messages_.leave();
    } catch (const Error& error) {
      if (rank() != 0) std::this_thread::sleep_for(kPatience);
      std::cerr << "partita: error: rank " << rank() << ": " << error.what() << std::endl;
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(error.code()));
    } catch (const std::exception&) {
      std::cerr << "partita: error: [memory] out of memory" << std::endl;
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(ExitCode::out_of_memory));
    }
  }

  /// Of all ranks or none; without it they send messages.
  void share_memory() {
    const size_t bytes = SharedMemoryCommunicator::bytes(size());
    if (rank() == 0) {
      segment_ = SharedSegment::create(bytes);
      if (segment_) SharedMemoryCommunicator::prepare(segment_->data(), size());
    }
    const std::string name = broadcast_name(comm_, segment_ ? segment_->name() : "");
    if (rank() != 0 && !name.empty()) segment_ = SharedSegment::open(name, bytes);
    const bool all_have_it = all_agree(comm_, segment_.has_value());
    if (rank() == 0 && segment_) segment_->unlink();
    if (!all_have_it) return;
    shared_.emplace(segment_->data(), rank(), std::vector<int>(world_ranks().begin(), world_ranks().end()),
                    host_->place.size, host_->presence ? &*host_->presence : nullptr,
                    [outbox = host_->outbox.get()] { return outbox->move_on(); });
  }

  void run(const Call& call, Timeout timeout) override {
    if (shared_) {
      shared_->run(call, timeout);
    } else {
      messages_.run(call, timeout);
    }
  }
  void send_to(int to, const Call& call, Timeout timeout) override { messages_.send(call, to, timeout); }
  void post_to(int to, const Call& call) override { messages_.post(call, to); }
  void recv_from(int from, const Call& call, Timeout timeout) override { messages_.recv(call, from, timeout); }

  std::unique_ptr<Communicator> split_off(const Call& call, int place, Timeout timeout) override {
    run(call, timeout);  // MPI's own split has no time-out: all are here when it begins, and agree
    std::vector<int> ranks;
    for (const int member : call.members) ranks.push_back(world_ranks()[member]);
    MPI_Comm group = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(comm_, call.members.front(), place, &group), "split");
    return std::make_unique<MpiCommunicator>(group, place, ranks, host_);
  }

  MPI_Comm comm_;
  bool is_world_;
  std::shared_ptr<const Host> host_;
  MessageGroup messages_;
  std::optional<SharedSegment> segment_;
  std::optional<SharedMemoryCommunicator> shared_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_world(int ranks_here) {
  // MPI ends the process, or waits for ever, where its buffers and threads do not fit.
  constexpr size_t kOwn = size_t{256} << 20, kPerRank = size_t{8} << 20;
  constexpr int kThreads = 4, kMostThreads = 32;
  const auto here = static_cast<size_t>(ranks_here);
  { const Reservation room("MPI", kOwn + here * kPerRank); }
  // The limits of a user hold for all ranks here, which start at about the same time.
  { const WaitingThreads proof(std::min(kThreads * static_cast<int>(here), kMostThreads), "MPI"); }
  int given = 0;
  // The communication of gradients has a thread of its own.
  const int status = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &given);
  if (status != MPI_SUCCESS || given < MPI_THREAD_MULTIPLE) {
    throw RuntimeFailure(ExitCode::peer_lost,
                         fmt::format("[mpi] cannot start, got status {} and thread level {}, expected 0 and {}", status,
                                     given, MPI_THREAD_MULTIPLE));
  }
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<int> ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, rank, ranks, nullptr);
}

}  // namespace partita
