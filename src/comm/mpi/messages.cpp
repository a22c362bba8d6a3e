#include "comm/mpi/messages.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "comm/inproc/reduce_kernels.h"

namespace partita {
namespace {

constexpr int64_t kMostBytes = int64_t{64} << 20;  // of one MPI call, whose counts are ints
constexpr int kSpins = 200;                        // polls before a waiting rank yields
constexpr int kTalk = 1, kCollective = 2;          // tags

int64_t item_of(const Call& call) { return static_cast<int64_t>(size_of(call.dtype)); }

int count_of(int64_t bytes, int64_t done) { return static_cast<int>(std::min(kMostBytes, bytes - done)); }

}  // namespace

void check_mpi(int status, std::string_view what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw RuntimeFailure(ExitCode::peer_lost, fmt::format("[mpi] {} failed: {}", what, std::string_view(text, length)));
}

MessageGroup::MessageGroup(MPI_Comm comm, const std::vector<int>& world_ranks)
    : comm_(comm), world_ranks_(world_ranks) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
}

void MessageGroup::run(const Call& call, Timeout timeout) {
  call_ = &call;
  timeout_ = timeout;
  switch (call.kind) {
    case Call::Kind::all_reduce: return all_reduce(call);
    case Call::Kind::all_gather: return all_gather(call, call.send, call.recv, call.counts);
    case Call::Kind::reduce_scatter: return reduce_scatter(call, call.send, call.recv, call.counts);
    case Call::Kind::all_to_all: return all_to_all(call);
    case Call::Kind::broadcast: return broadcast(call);
    case Call::Kind::barrier: {
      MPI_Request& request = pending_.emplace_back(Pending{MPI_REQUEST_NULL, -1}).request;
      check_mpi(MPI_Ibarrier(comm_, &request), "barrier");
      return wait();
    }
    default: throw InternalError("[messages] split, send and recv are not collective data movement");
  }
}

void MessageGroup::send(const Call& call, int to, Timeout timeout) {
  call_ = &call;
  timeout_ = timeout;
  start_send({const_cast<void*>(call.send), call.count * item_of(call)}, to, kTalk);
  wait();
}

void MessageGroup::recv(const Call& call, int from, Timeout timeout) {
  call_ = &call;
  timeout_ = timeout;
  start_receive({call.recv, call.count * item_of(call)}, from, kTalk);
  wait();
}

void MessageGroup::all_reduce(const Call& call) {
  const int64_t item = item_of(call), per_round = kMostBytes / item;
  std::vector<int64_t> counts(size_);
  for (int64_t done = 0; done < call.count; done += per_round) {
    const int64_t count = std::min(call.count - done, per_round);
    const auto begin_of = [&](int64_t r) { return r * count / size_; };
    for (int r = 0; r < size_; ++r) counts[r] = begin_of(r + 1) - begin_of(r);
    auto* data = static_cast<std::byte*>(call.recv) + done * item;
    own_.resize(counts[rank_] * item);
    reduce_scatter(call, data, own_.data(), counts);
    std::copy(own_.begin(), own_.end(), data + begin_of(rank_) * item);
    all_gather(call, own_.data(), data, counts);
  }
}

void MessageGroup::reduce_scatter(const Call& call, const void* send, void* recv, std::span<const int64_t> counts) {
  const int64_t item = item_of(call), mine = counts[rank_] * item;
  parts_.resize(mine * size_);
  auto* from = const_cast<std::byte*>(static_cast<const std::byte*>(send));
  exchange(
      [&](int r) {
        const Piece piece{from, counts[r] * item};
        from += piece.bytes;
        return piece;
      },
      [&](int r) {
        return Piece{parts_.data() + r * mine, mine};
      });
  std::vector<const void*> sources;
  for (int r = 0; r < size_; ++r) sources.push_back(parts_.data() + r * mine);
  reduce_elements(sources, {&recv, 1}, 0, counts[rank_], call.dtype, call.reduce);
}

void MessageGroup::all_gather(const Call& call, const void* own, void* all, std::span<const int64_t> counts) {
  const int64_t item = item_of(call);
  auto* to = static_cast<std::byte*>(all);
  exchange(
      [&](int) {
        return Piece{const_cast<void*>(own), counts[rank_] * item};
      },
      [&](int r) {
        const Piece piece{to, counts[r] * item};
        to += piece.bytes;
        return piece;
      });
}

void MessageGroup::all_to_all(const Call& call) {
  const int64_t item = item_of(call);
  auto* from = const_cast<std::byte*>(static_cast<const std::byte*>(call.send));
  auto* to = static_cast<std::byte*>(call.recv);
  const auto next = [&](std::byte*& at, int64_t count) {
    const Piece piece{at, count * item};
    at += piece.bytes;
    return piece;
  };
  exchange([&](int r) { return next(from, call.counts[r]); }, [&](int r) { return next(to, call.recv_counts[r]); });
}

void MessageGroup::broadcast(const Call& call) {
  const int64_t bytes = call.count * item_of(call);
  for (int64_t done = 0; done < bytes; done += kMostBytes) {
    MPI_Request& request = pending_.emplace_back(Pending{MPI_REQUEST_NULL, -1}).request;
    check_mpi(MPI_Ibcast(static_cast<std::byte*>(call.recv) + done, count_of(bytes, done), MPI_BYTE, call.root, comm_,
                         &request),
              "broadcast");
    wait();
  }
}

void MessageGroup::start_send(const Piece& piece, int to, int tag) {
  for (int64_t done = 0; done < piece.bytes; done += kMostBytes) {
    MPI_Request& request = pending_.emplace_back(Pending{MPI_REQUEST_NULL, to}).request;
    check_mpi(MPI_Isend(static_cast<std::byte*>(piece.data) + done, count_of(piece.bytes, done), MPI_BYTE, to, tag,
                        comm_, &request),
              "send");
  }
}

void MessageGroup::start_receive(const Piece& piece, int from, int tag) {
  for (int64_t done = 0; done < piece.bytes; done += kMostBytes) {
    MPI_Request& request = pending_.emplace_back(Pending{MPI_REQUEST_NULL, from}).request;
    check_mpi(MPI_Irecv(static_cast<std::byte*>(piece.data) + done, count_of(piece.bytes, done), MPI_BYTE, from, tag,
                        comm_, &request),
              "receive");
  }
}

template <class Give, class Take>
void MessageGroup::exchange(Give give, Take take) {
  Piece own;
  for (int r = 0; r < size_; ++r) {
    const Piece piece = take(r);
    if (r == rank_) {
      own = piece;
    } else {
      start_receive(piece, r, kCollective);
    }
  }
  for (int r = 0; r < size_; ++r) {
    const Piece piece = give(r);
    if (r != rank_) {
      start_send(piece, r, kCollective);
    } else if (piece.bytes > 0 && piece.data != own.data) {
      std::memcpy(own.data, piece.data, piece.bytes);
    }
  }
  wait();
}

void MessageGroup::wait() {
  requests_.clear();
  for (const Pending& pending : pending_) requests_.push_back(pending.request);
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t polls = 0;; ++polls) {
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
              name_of(call_->kind));
    if (done != 0) break;
    if (polls < kSpins) continue;
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() - begin >= timeout_) give_up();
  }
  pending_.clear();
}

void MessageGroup::give_up() {
  std::vector<int> missing;
  for (size_t i = 0; i < pending_.size(); ++i) {
    int done = 0;
    MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
    if (done != 0 || pending_[i].peer < 0) continue;
    const int peer = world_ranks_[pending_[i].peer];
    if (std::find(missing.begin(), missing.end(), peer) == missing.end()) missing.push_back(peer);
  }
  pending_.clear();
  std::sort(missing.begin(), missing.end());
  const std::string data = describe_data(*call_), ranks = missing.size() == 1 ? "rank " : "ranks ";
  throw RuntimeFailure(
      ExitCode::peer_stalled,
      fmt::format("[{}] timed out after {:.1f} s{}: waiting for {} of group ({})", name_of(call_->kind),
                  std::chrono::duration<double>(timeout_).count(), data.empty() ? "" : " (" + data + ")",
                  missing.empty() ? "others" : ranks + listed(missing, ", "), listed(world_ranks_, ",")));
}

}  // namespace partita
