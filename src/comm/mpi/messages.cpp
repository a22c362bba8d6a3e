#include "comm/mpi/messages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "comm/reduce_kernels.h"

namespace partita {
namespace {

constexpr int64_t kMostBytes = int64_t{64} << 20;                         // of one MPI call, whose counts are ints
constexpr Timeout kMessageLookInterval = std::chrono::milliseconds(200);  // between two looks whether a rank has gone
constexpr int kSpins = 200;                                               // polls before a waiting rank yields
constexpr int kTalk = 1, kCollective = 2;                                 // tags
constexpr int64_t kBarrierBytes = 1;
constexpr int64_t kLeaveBytes = 13;  // no number of elements has so many, but for those of one byte

int64_t item_of(const Call& call) { return static_cast<int64_t>(size_of(call.dtype)); }

int count_of(int64_t bytes, int64_t done) { return static_cast<int>(std::min(kMostBytes, bytes - done)); }

}  // namespace

void check_mpi(int status, std::string_view what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0, kind = MPI_SUCCESS;
  MPI_Error_string(status, text, &length);
  MPI_Error_class(status, &kind);
  throw RuntimeFailure(kind == MPI_ERR_NO_MEM ? ExitCode::out_of_memory : ExitCode::peer_lost,
                       fmt::format("[mpi] {} failed: {}", what, std::string_view(text, length)));
}

MessageGroup::MessageGroup(MPI_Comm comm, std::span<const int> world_ranks, std::function<bool(int)> is_gone)
    : comm_(comm), world_ranks_(world_ranks), is_gone_(std::move(is_gone)), posted_(comm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
}

template <class Body>
void MessageGroup::begin(const Call& call, Timeout timeout, Body body, bool for_all) {
  if (failed_) {
    throw RuntimeFailure(ExitCode::peer_stalled,
                         fmt::format("[{}] a call of the group failed before, got another one, expected none of ({})",
                                     name_of(call.kind), listed(world_ranks_, ",")));
  }
  call_ = &call;
  timeout_ = timeout;
  deadline_ = deadline_after(timeout);
  try {
    body();
  } catch (...) {
    failed_ = failed_ || for_all;
    withdraw();
    throw;
  }
}

void MessageGroup::run(const Call& call, Timeout timeout) {
  begin(
      call, timeout,
      [&] {
        switch (call.kind) {
          case Collective::all_reduce: return all_reduce(call);
          case Collective::all_gather: return all_gather(call, call.send, call.recv, call.counts);
          case Collective::reduce_scatter: return reduce_scatter(call, call.send, call.recv, call.counts);
          case Collective::all_to_all: return all_to_all(call);
          case Collective::broadcast: return broadcast(call);
          case Collective::split: return compare_members(call);
          case Collective::barrier: return barrier(kBarrierBytes);
          default: throw InternalError("[messages] send and recv are not collective");
        }
      },
      /*for_all=*/true);
}

void MessageGroup::send(const Call& call, int to, Timeout timeout) {
  begin(call, timeout, [&] {
    start_send({const_cast<void*>(call.send), call.count * item_of(call)}, to, kTalk);
    wait();
  });
}

void MessageGroup::post(const Call& call, int to) {
  posted_.post(call.send, call.count * item_of(call), to, kTalk, kMostBytes);
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
  const Call gather{.kind = Collective::split, .dtype = DType::i32};
  all_gather(gather, own.data(), all.data(), counts);
  std::vector<std::vector<int>> members;
  std::vector<Call> calls;
  for (int r = 0; r < size_; ++r) {
    const auto begin = all.begin() + static_cast<int64_t>(r) * size_;
    members.emplace_back(begin, std::find(begin, begin + size_, -1));
  }
  for (const auto& list : members) calls.push_back({.kind = Collective::split, .members = list});
  if (const auto text = disagreement([&](int r) -> const Call& { return calls[r]; }, world_ranks_)) {
    throw RuntimeFailure(ExitCode::ranks_disagree, fmt::format("[split] ranks disagree: {}", *text));
  }
}

void MessageGroup::all_reduce(const Call& call) {
  const int64_t item = item_of(call), per_round = kMostBytes / item;
  counts_.resize(size_);
  for (int64_t done = 0; done < call.count; done += per_round) {
    const int64_t count = std::min(call.count - done, per_round);
    const auto begin_of = [&](int64_t r) { return r * count / size_; };
    for (int r = 0; r < size_; ++r) counts_[r] = begin_of(r + 1) - begin_of(r);
    auto* data = static_cast<std::byte*>(call.recv) + done * item;
    own_.resize(counts_[rank_] * item);
    reduce_scatter(call, data, own_.data(), counts_);
    all_gather(call, own_.data(), data, counts_);
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
  sources_.clear();
  for (int r = 0; r < size_; ++r) sources_.push_back(parts_.data() + r * mine);
  reduce_elements(sources_, {&recv, 1}, 0, counts[rank_], call.dtype, call.reduce);
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
  const Piece all{call.recv, call.count * item_of(call)};
  if (rank_ != call.root) start_receive(all, call.root, kCollective);
  for (int r = 0; r < size_ && rank_ == call.root; ++r) {
    if (r != rank_) start_send(all, r, kCollective);
  }
  wait();
}

void MessageGroup::barrier(int64_t bytes) {
  // Dissemination (Hensgen, Finkel, Manber, 1988): after round k each rank knows of 2^k ranks before it.
  std::array<std::byte, kLeaveBytes> here{}, there{};
  for (int step = 1; step < size_; step *= 2) {
    start_receive({there.data(), bytes}, (rank_ + size_ - step) % size_, kCollective);
    start_send({here.data(), bytes}, (rank_ + step) % size_, kCollective);
    wait();
  }
}

void MessageGroup::leave() {
  const Call call{.kind = Collective::leave};
  begin(
      call, Timeout::max(), [&] { barrier(kLeaveBytes); }, /*for_all=*/true);
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
  Deadline next_look = deadline_after(kMessageLookInterval);
  for (int64_t polls = 0;; ++polls) {
    int done = 0;
    const int status = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data());
    for (size_t i = 0; i < pending_.size(); ++i) pending_[i].request = requests_[i];
    if (status == MPI_ERR_IN_STATUS) throw_failure();
    check_mpi(status, name_of(call_->kind));
    if (done != 0) break;
    if (polls < kSpins) continue;
    std::this_thread::yield();
    const Deadline now = std::chrono::steady_clock::now();
    if (now >= deadline_) return give_up();
    if (now < next_look) continue;
    look_for_lost();
    next_look = deadline_after(kMessageLookInterval);
  }
  check_sizes();
  pending_.clear();
}

void MessageGroup::check_sizes() const {
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Pending& pending = pending_[i];
    int got = 0;
    if (pending.expected < 0) continue;
    MPI_Get_count(&statuses_[i], MPI_BYTE, &got);
    if (got == pending.expected) continue;
    throw RuntimeFailure(
        ExitCode::ranks_disagree,
        fmt::format("[{}] ranks disagree: rank {} sends {} bytes, rank {} expects {}", name_of(call_->kind),
                    world_ranks_[pending.peer], got, world_ranks_[rank_], pending.expected));
  }
}

void MessageGroup::throw_failure() const {
  for (size_t i = 0; i < pending_.size(); ++i) {
    int kind = MPI_SUCCESS;
    if (statuses_[i].MPI_ERROR == MPI_SUCCESS || statuses_[i].MPI_ERROR == MPI_ERR_PENDING) continue;
    MPI_Error_class(statuses_[i].MPI_ERROR, &kind);
    if (kind != MPI_ERR_TRUNCATE) check_mpi(statuses_[i].MPI_ERROR, name_of(call_->kind));
    throw RuntimeFailure(
        ExitCode::ranks_disagree,
        fmt::format("[{}] ranks disagree: rank {} sends more bytes than rank {} expects, got more "
                    "than {}",
                    name_of(call_->kind), world_ranks_[pending_[i].peer], world_ranks_[rank_], pending_[i].expected));
  }
}

void MessageGroup::look_for_lost() {
  for (const Pending& pending : pending_) {
    const int peer = world_ranks_[pending.peer];
    int done = 0;
    if (pending.request == MPI_REQUEST_NULL || !is_gone_(peer)) continue;
    check_mpi(MPI_Request_get_status(pending.request, &done, MPI_STATUS_IGNORE), name_of(call_->kind));
    if (done == 0) throw RuntimeFailure(ExitCode::peer_lost, lost(*call_, peer, world_ranks_));
  }
}

void MessageGroup::give_up() {
  std::vector<int> missing;
  for (size_t i = 0; i < pending_.size(); ++i) {
    int done = 0;
    if (pending_[i].request == MPI_REQUEST_NULL) continue;
    check_mpi(MPI_Test(&pending_[i].request, &done, &statuses_[i]), name_of(call_->kind));
    const int peer = world_ranks_[pending_[i].peer];
    if (done == 0 && std::find(missing.begin(), missing.end(), peer) == missing.end()) missing.push_back(peer);
  }
  if (missing.empty()) {  // just in time
    check_sizes();
    return pending_.clear();
  }
  std::sort(missing.begin(), missing.end());
  throw RuntimeFailure(ExitCode::peer_stalled, timed_out(*call_, timeout_, missing, world_ranks_));
}

bool MessageGroup::is_cancelled(MPI_Request& request) noexcept {
  MPI_Status status;
  int done = 0, cancelled = 0;
  // One that has begun to come, from a peer that stopped or has gone, may never be done.
  for (const Deadline end = deadline_after(kMessageLookInterval); done == 0;) {
    MPI_Test(&request, &done, &status);
    if (done == 0 && std::chrono::steady_clock::now() >= end) {
      MPI_Request_free(&request);
      return false;
    }
  }
  MPI_Test_cancelled(&status, &cancelled);
  return cancelled != 0;  // else its message came just now, and is lost
}

void MessageGroup::withdraw() noexcept {
  for (Pending& pending : pending_) {
    if (pending.request == MPI_REQUEST_NULL) continue;
    if (pending.expected < 0) {  // a send cannot be taken back
      MPI_Request_free(&pending.request);
      failed_ = true;
      continue;
    }
    MPI_Cancel(&pending.request);
    if (!is_cancelled(pending.request)) failed_ = true;
  }
  pending_.clear();
}

}  // namespace partita
