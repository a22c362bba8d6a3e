// Non-blocking calls that are polled: a rank that waits yields its core, and leaves when its time is over; only `split`
// blocks, as MPI has no other form of it. Reductions add contributions in group order, as those of the in-process
// ranks, so that both give the same bits.

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <iostream>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "comm/inproc/reduce_kernels.h"
#include "comm/mpi/mpi.h"

namespace partita {
namespace {

constexpr int64_t kChunk = int64_t{64} << 20;  // bytes of one call: counts of MPI are ints
constexpr int kSpins = 200;                    // polls before a waiting rank yields

void check(int status, std::string_view what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw RuntimeFailure(ExitCode::peer_lost, fmt::format("[mpi] {} failed: {}", what, std::string_view(text, length)));
}

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, bool is_world) : comm_(comm), is_world_(is_world) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~MpiCommunicator() override {
    if (is_world_) {
      // A process that ends with an error must not wait for the others; the launcher then ends them.
      if (std::uncaught_exceptions() == 0) MPI_Finalize();
    } else {
      MPI_Comm_free(&comm_);
    }
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  CommCapabilities capabilities() const override { return {.backend = "mpi"}; }

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout) override {
    const auto at = std::find(members.begin(), members.end(), rank_);
    if (at == members.end()) {
      throw InvalidArgument(fmt::format("[split] a rank is not in its own group, got rank {} and ranks ({})", rank_,
                                        fmt::join(members, ", ")));
    }
    MPI_Comm group = MPI_COMM_NULL;
    check(MPI_Comm_split(comm_, members.front(), static_cast<int>(at - members.begin()), &group), "split");
    return std::make_unique<MpiCommunicator>(group, false);
  }

  void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) override {
    if (size_ == 1) return;
    const auto size = static_cast<int64_t>(size_of(dtype));
    auto* bytes = static_cast<char*>(data);
    for (int64_t done = 0; done < count; done += kChunk / size) {
      const int64_t part = std::min(count - done, kChunk / size);
      std::vector<int64_t> counts;
      for (int r = 0; r < size_; ++r) counts.push_back((r + 1) * part / size_ - r * part / size_);
      const int64_t first = rank_ * part / size_;
      std::vector<char> own(counts[rank_] * size);
      scatter(bytes + done * size, own.data(), counts, dtype, reduce, timeout);
      std::memcpy(bytes + (done + first) * size, own.data(), own.size());
      gather(own.data(), bytes + done * size, counts, size, timeout);
    }
  }

  void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                  Timeout timeout) override {
    gather(send, recv, counts, static_cast<int64_t>(size_of(dtype)), timeout);
  }

  void reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                      Timeout timeout) override {
    scatter(send, recv, counts, dtype, reduce, timeout);
  }

  void all_to_all(const void* send, std::span<const int64_t> send_counts, void* recv,
                  std::span<const int64_t> recv_counts, DType dtype, Timeout timeout) override {
    const auto size = static_cast<int64_t>(size_of(dtype));
    exchange([&, at = int64_t{0}](int r) mutable { return next_piece(send, send_counts[r] * size, at); },
             [&, at = int64_t{0}](int r) mutable { return next_piece(recv, recv_counts[r] * size, at); }, timeout);
  }

  void broadcast(void* data, int64_t count, DType dtype, int root, Timeout timeout) override {
    const int64_t bytes = count * static_cast<int64_t>(size_of(dtype));
    for (int64_t done = 0; done < bytes; done += kChunk) {
      MPI_Request request = MPI_REQUEST_NULL;
      check(MPI_Ibcast(static_cast<char*>(data) + done, static_cast<int>(std::min(kChunk, bytes - done)), MPI_BYTE,
                       root, comm_, &request),
            "broadcast");
      wait({&request, 1}, timeout, "broadcast");
    }
  }

  void send(const void* data, int64_t count, DType dtype, int to, Timeout timeout) override {
    std::vector<MPI_Request> requests;
    start_sends({const_cast<void*>(data), count * static_cast<int64_t>(size_of(dtype))}, to, kTalk, requests);
    wait(requests, timeout, fmt::format("send to rank {}", to));
  }

  void recv(void* data, int64_t count, DType dtype, int from, Timeout timeout) override {
    std::vector<MPI_Request> requests;
    start_receives({data, count * static_cast<int64_t>(size_of(dtype))}, from, kTalk, requests);
    wait(requests, timeout, fmt::format("receive from rank {}", from));
  }

  void barrier(Timeout timeout) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(comm_, &request), "barrier");
    wait({&request, 1}, timeout, "barrier");
  }

  void abort(const std::string& message, ExitCode code) noexcept override {
    std::cerr << "partita: error: " + message + "\n" << std::flush;
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  }

 private:
  static constexpr int kTalk = 1, kCollective = 2;  // tags

  struct Piece {
    void* data;
    int64_t bytes;
  };

  static Piece next_piece(const void* all, int64_t bytes, int64_t& at) {
    const Piece piece{const_cast<char*>(static_cast<const char*>(all)) + at, bytes};
    at += bytes;
    return piece;
  }

  void start_sends(const Piece& piece, int to, int tag, std::vector<MPI_Request>& requests) const {
    for (int64_t done = 0; done < piece.bytes; done += kChunk) {
      check(MPI_Isend(static_cast<char*>(piece.data) + done, static_cast<int>(std::min(kChunk, piece.bytes - done)),
                      MPI_BYTE, to, tag, comm_, &requests.emplace_back(MPI_REQUEST_NULL)),
            "send");
    }
  }
  void start_receives(const Piece& piece, int from, int tag, std::vector<MPI_Request>& requests) const {
    for (int64_t done = 0; done < piece.bytes; done += kChunk) {
      check(MPI_Irecv(static_cast<char*>(piece.data) + done, static_cast<int>(std::min(kChunk, piece.bytes - done)),
                      MPI_BYTE, from, tag, comm_, &requests.emplace_back(MPI_REQUEST_NULL)),
            "receive");
    }
  }

  /// Every rank sends a piece to, and gets one from, every rank; its own is copied.
  template <class Give, class Take>
  void exchange(Give give, Take take, Timeout timeout) const {
    std::vector<MPI_Request> requests;
    Piece own{nullptr, 0};
    for (int r = 0; r < size_; ++r) {
      const Piece piece = take(r);
      if (r == rank_) {
        own = piece;
      } else {
        start_receives(piece, r, kCollective, requests);
      }
    }
    for (int r = 0; r < size_; ++r) {
      const Piece piece = give(r);
      if (r != rank_) {
        start_sends(piece, r, kCollective, requests);
      } else if (piece.bytes > 0 && piece.data != own.data) {
        std::memcpy(own.data, piece.data, piece.bytes);
      }
    }
    wait(requests, timeout, "exchange");
  }

  /// Each rank gets the contributions to its part from all, and combines them in group order.
  void scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
               Timeout timeout) const {
    const auto size = static_cast<int64_t>(size_of(dtype));
    const int64_t mine = counts[rank_];
    std::vector<char> parts(static_cast<size_t>(mine * size * size_));
    exchange([&, at = int64_t{0}](int r) mutable { return next_piece(send, counts[r] * size, at); },
             [&](int r) {
               return Piece{parts.data() + r * mine * size, mine * size};
             },
             timeout);
    std::vector<const void*> sources;
    for (int r = 0; r < size_; ++r) sources.push_back(parts.data() + r * mine * size);
    reduce_elements(sources, std::span<void* const>(&recv, 1), 0, mine, dtype, reduce);
  }

  void gather(const void* own, void* all, std::span<const int64_t> counts, int64_t size, Timeout timeout) const {
    exchange(
        [&](int) {
          return Piece{const_cast<void*>(own), counts[rank_] * size};
        },
        [&, at = int64_t{0}](int r) mutable { return next_piece(all, counts[r] * size, at); }, timeout);
  }

  /// Polls until all are done; yields, since ranks may share cores.
  void wait(std::span<MPI_Request> requests, Timeout timeout, std::string_view what) const {
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t polls = 0;; ++polls) {
      int done = 0;
      check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE), what);
      if (done != 0) return;
      if (polls < kSpins) continue;
      std::this_thread::yield();
      if (std::chrono::steady_clock::now() - begin < timeout) continue;
      throw RuntimeFailure(ExitCode::peer_stalled,
                           fmt::format("[mpi] rank {} of {} waited too long, got no end of a {} in {} ms, expected one",
                                       rank_, size_, what, timeout.count()));
    }
  }

  MPI_Comm comm_;
  bool is_world_;
  int rank_ = 0, size_ = 1;
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
  return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, true);
}

}  // namespace partita
