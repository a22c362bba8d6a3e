#include "comm/mpi/messages.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "comm/reduce_kernels.h"

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

MessageGroup::MessageGroup(MPI_Comm comm, std::span<const int> world_ranks) : comm_(comm), world_ranks_(world_ranks) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
}

template <class Body>
void MessageGroup::begin(const Call& call, Timeout timeout, Body body) {
  call_ = &call;
  timeout_ = timeout;
  try {
    body();
  } catch (...) {
    withdraw();
    throw;
  }
}

void MessageGroup::run(const Call& call, Timeout timeout) {
  if (failed_) {
    throw RuntimeFailure(ExitCode::peer_stalled,
                         fmt::format("[{}] a call of the group failed before, got another one, expected none of ({})",
                                     name_of(call.kind), listed(world_ranks_, ",")));
  }
  failed_ = true;  // until it ends well
  begin(call, timeout, [&] {
    switch (call.kind) {
      case Call::Kind::all_reduce: return all_reduce(call);
      case Call::Kind::all_gather: return all_gather(call, call.send, call.recv, call.counts);
      case Call::Kind::reduce_scatter: return reduce_scatter(call, call.send, call.recv, call.counts);
      case Call::Kind::all_to_all: return all_to_all(call);
      case Call::Kind::broadcast: return broadcast(call);
      case Call::Kind::split: return compare_members(call);
      case Call::Kind::barrier: {
        MPI_Request& request = pending_.emplace_back(Pending{MPI_REQUEST_NULL, -1}).request;
        check_mpi(MPI_Ibarrier(comm_, &request), "barrier");
        return wait();
      }
      default: throw InternalError("[messages] send and recv are not collective");
    }
  });
  failed_ = false;
}

void MessageGroup::send(const Call& call, int to, Timeout timeout) {
  begin(call, timeout, [&] {
    start_send({const_cast<void*>(call.send), call.count * item_of(call)}, to, kTalk);
    wait();
  });
}

void MessageGroup::recv(const Call& call, int from, Timeout timeout) {
  begin(call, timeout, [&] {
    start_receive({call.recv, call.count * item_of(call)}, from, kTalk);
    wait();
  });
}

void MessageGroup::compare_members(const Call& call) {
  // Each rank's list, ended by -1.
  std::vector<int32_t> own(size_, -1), all(static_cast<size_t>(size_) * size_);
  std::copy(call.members.begin(), call.members.end(), own.begin());
  const std::vector<int64_t> counts(size_, size_);
  const Call gather{.kind = Call::Kind::split, .dtype = DType::i32};
  all_gather(gather, own.data(), all.data(), counts);
  std::vector<std::vector<int>> members;
  std::vector<Call> calls;
  for (int r = 0; r < size_; ++r) {
    const auto begin = all.begin() + static_cast<int64_t>(r) * size_;
    members.emplace_back(begin, std::find(begin, begin + size_, -1));
  }
  for (const auto& list : members) calls.push_back({.kind = Call::Kind::split, .members = list});
  if (const auto text = disagreement([&](int r) -> const Call& { return calls[r]; }, world_ranks_)) {
    throw RuntimeFailure(ExitCode::ranks_disagree, fmt::format("[split] ranks disagree: {}", *text));
  }
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
    const int count = count_of(piece.bytes, done);
    MPI_Request& request = pending_.emplace_back(Pending{MPI_REQUEST_NULL, from, count}).request;
    check_mpi(MPI_Irecv(static_cast<std::byte*>(piece.data) + done, count, MPI_BYTE, from, tag, comm_, &request),
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
  statuses_.resize(requests_.size());
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t polls = 0;; ++polls) {
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data()),
              name_of(call_->kind));
    if (done != 0) break;
    if (polls < kSpins) continue;
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() - begin >= timeout_) give_up();
  }
  for (size_t i = 0; i < pending_.size(); ++i) {
    int got = 0;
    if (pending_[i].expected >= 0) MPI_Get_count(&statuses_[i], MPI_BYTE, &got);
    if (pending_[i].expected < 0 || got == pending_[i].expected) continue;
    const Pending short_one = pending_[i];
    pending_.clear();
    throw RuntimeFailure(
        ExitCode::ranks_disagree,
        fmt::format("[{}] ranks disagree: rank {} sends {} bytes, rank {} expects {}", name_of(call_->kind),
                    world_ranks_[short_one.peer], got, world_ranks_[rank_], short_one.expected));
  }
  pending_.clear();
}

void MessageGroup::give_up() {
  std::vector<int> missing;
  for (Pending& pending : pending_) {
    int done = 0;
    MPI_Test(&pending.request, &done, MPI_STATUS_IGNORE);
    if (done != 0 || pending.peer < 0) continue;
    const int peer = world_ranks_[pending.peer];
    if (std::find(missing.begin(), missing.end(), peer) == missing.end()) missing.push_back(peer);
  }
  std::sort(missing.begin(), missing.end());
  throw RuntimeFailure(ExitCode::peer_stalled, timed_out(*call_, timeout_, missing, world_ranks_));
}

void MessageGroup::withdraw() noexcept {
  for (Pending& pending : pending_) {
    if (pending.request == MPI_REQUEST_NULL) continue;
    // A receive that is withdrawn ends at once, or has got its message just now. A send cannot be taken back.
    if (pending.expected >= 0 && MPI_Cancel(&pending.request) == MPI_SUCCESS) {
      MPI_Wait(&pending.request, MPI_STATUS_IGNORE);
    } else {
      MPI_Request_free(&pending.request);
      failed_ = true;
    }
  }
  pending_.clear();
}

}  // namespace partita
