#include "comm/messages/message_group.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "comm/reduce_kernels.h"

namespace partita {
namespace {

constexpr int64_t kMostBytes = Carrier::kMostBytes;
constexpr Timeout kMessageLookInterval = std::chrono::milliseconds(200);  // between two looks whether a rank has gone
constexpr int64_t kReduceBytes = int64_t{256} << 10, kMostChunks = 64;    // of the part that a rank reduces
constexpr int kTalk = 1, kCollective = 2;                                 // tags
constexpr int64_t kBarrierBytes = 1;
constexpr int64_t kLeaveBytes = 13;  // no number of elements has so many, but for those of one byte

int64_t item_of(const Call& call) { return static_cast<int64_t>(size_of(call.dtype)); }

}  // namespace

MessageGroup::MessageGroup(Carrier& carrier, std::span<const int> world_ranks, const WorldState& world,
                           std::function<bool(int)> is_gone)
    : carrier_(carrier),
      world_ranks_(world_ranks),
      world_(world),
      is_gone_(std::move(is_gone)),
      rank_(carrier.rank()),
      size_(carrier.size()) {}

template <class Body>
void MessageGroup::begin(const Call& call, Timeout timeout, Body body, bool for_all) {
  world_.throw_if_aborted(call, world_ranks_);
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
  world_.throw_if_aborted(call, world_ranks_);
  auto* data = static_cast<std::byte*>(const_cast<void*>(call.send));
  const int64_t bytes = call.count * item_of(call);
  for (int64_t done = 0; done < bytes; done += kMostBytes) {
    carrier_.post({.data = data + done,
                   .bytes = std::min(kMostBytes, bytes - done),
                   .peer = to,
                   .tag = kTalk,
                   .label = {.kind = Collective::send, .dtype = call.dtype}});
  }
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
  for (int64_t done = 0; done < call.count; done += per_round) {
    reduce_parts(call, static_cast<std::byte*>(call.recv) + done * item, std::min(call.count - done, per_round));
  }
}

/// Each rank reduces a part of the elements, chunk by chunk: one that is reduced goes to all while others still come.
void MessageGroup::reduce_parts(const Call& call, std::byte* data, int64_t count) {
  const int64_t item = item_of(call), chunks = std::clamp<int64_t>(count / size_ * item / kReduceBytes, 1, kMostChunks);
  // Elements: where the part of a rank begins, and a chunk of that part.
  const auto part = [&](int64_t r) { return r * count / size_; };
  const auto chunk = [&](int64_t r, int64_t k) { return k * (part(r + 1) - part(r)) / chunks; };
  const auto piece = [&](int r, int64_t k) {
    return Piece{data + (part(r) + chunk(r, k)) * item, (chunk(r, k + 1) - chunk(r, k)) * item};
  };
  const auto for_others = [&](const auto& start) {
    for (int r = 0; r < size_; ++r) {
      if (r != rank_) start(r);
    }
  };
  void* const own = data + part(rank_) * item;
  const int64_t mine = (part(rank_ + 1) - part(rank_)) * item;
  make_room(parts_, mine * size_);
  const auto came = [&](int64_t r) { return parts_.data() + r * mine; };
  sources_.clear();
  for (int r = 0; r < size_; ++r) sources_.push_back(r == rank_ ? own : came(r));
  std::vector<size_t> begun;  // messages, up to each chunk
  for (int64_t k = 0; k < chunks; ++k) {
    for_others([&](int r) {
      start_receive({came(r) + chunk(rank_, k) * item, piece(rank_, k).bytes}, r, kCollective);
    });
    for_others([&](int r) { start_send(piece(r, k), r, kCollective); });
    begun.push_back(pending_.size());
  }
  for (int64_t k = 0; k < chunks; ++k) {
    wait(begun[static_cast<size_t>(k)]);  // the others have these elements of the buffer
    for_others([&](int r) { start_receive(piece(r, k), r, kCollective); });
    reduce_elements(sources_, {&own, 1}, chunk(rank_, k), chunk(rank_, k + 1), call.dtype, call.reduce);
    for_others([&](int r) { start_send(piece(rank_, k), r, kCollective); });
  }
  wait();
}

void MessageGroup::reduce_scatter(const Call& call, const void* send, void* recv, std::span<const int64_t> counts) {
  const int64_t item = item_of(call), mine = counts[rank_] * item;
  make_room(parts_, mine * size_);
  sources_.clear();
  for (int r = 0; r < size_; ++r) sources_.push_back(parts_.data() + r * mine);
  auto* from = const_cast<std::byte*>(static_cast<const std::byte*>(send));
  exchange(
      [&](int r) {
        const Piece piece{from, counts[r] * item};
        if (r == rank_) sources_[r] = from;
        from += piece.bytes;
        return piece;
      },
      [&](int r) {
        return r == rank_ ? Piece{} : Piece{const_cast<void*>(sources_[r]), mine};
      });
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

MessageLabel MessageGroup::label() const {
  const bool talks = call_->kind == Collective::send || call_->kind == Collective::recv;
  return {.kind = talks ? Collective::send : call_->kind,
          .dtype = call_->dtype,
          .reduce = call_->reduce,
          .root = call_->root};
}

void MessageGroup::start_send(const Piece& piece, int to, int tag) {
  for (int64_t done = 0; done < piece.bytes; done += kMostBytes) {
    carrier_.start(pending_.emplace_back(PendingMessage{.way = PendingMessage::Way::send,
                                                        .data = static_cast<std::byte*>(piece.data) + done,
                                                        .bytes = std::min(kMostBytes, piece.bytes - done),
                                                        .peer = to,
                                                        .tag = tag,
                                                        .label = label()}));
  }
}

void MessageGroup::start_receive(const Piece& piece, int from, int tag) {
  for (int64_t done = 0; done < piece.bytes; done += kMostBytes) {
    carrier_.start(pending_.emplace_back(PendingMessage{.way = PendingMessage::Way::receive,
                                                        .data = static_cast<std::byte*>(piece.data) + done,
                                                        .bytes = std::min(kMostBytes, piece.bytes - done),
                                                        .peer = from,
                                                        .tag = tag,
                                                        .label = label()}));
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
    } else if (own.bytes > 0 && piece.data != own.data) {
      std::memcpy(own.data, piece.data, piece.bytes);
    }
  }
  wait();
}

void MessageGroup::wait(size_t count) {
  while (!carrier_.wait(pending_, count, std::min(deadline_, deadline_after(kMessageLookInterval)))) {
    world_.throw_if_aborted(*call_, world_ranks_);
    if (std::chrono::steady_clock::now() >= deadline_) give_up();
    look_for_lost();
  }
  check_came();
}

void MessageGroup::wait() {
  wait(pending_.size());
  pending_.clear();
}

void MessageGroup::chain_reduce(const Call& call, const ChainPart& part, Timeout timeout) {
  begin(
      call, timeout, [&] { run_chain(call, part); }, /*for_all=*/true);
}

void MessageGroup::move(const Call& call, std::span<const MessagePiece> sends, std::span<const MessagePiece> receives,
                        Timeout timeout) {
  begin(
      call, timeout,
      [&] {
        for (const auto& [peer, data, bytes] : receives) start_receive({data, bytes}, peer, kCollective);
        for (const auto& [peer, data, bytes] : sends) start_send({data, bytes}, peer, kCollective);
        wait();
      },
      /*for_all=*/true);
}

void MessageGroup::run_chain(const Call& call, const ChainPart& part) {
  const auto& [own, count, result, previous, next, returns, sends, receives] = part;
  const int64_t item = item_of(call), per_chunk = ChainPart::kChunkBytes / item;
  const int64_t chunks = (count + per_chunk - 1) / per_chunk;
  const auto piece = [&, count = count](void* data, int64_t k) {
    return Piece{static_cast<std::byte*>(data) + k * per_chunk * item,
                 std::min(per_chunk, count - k * per_chunk) * item};
  };
  // What comes from before, and what goes on; the result comes, or is made, where it is wanted.
  if (previous >= 0) make_room(parts_, count * item);
  if (next >= 0) make_room(own_, count * item);
  void *before = parts_.data(), *made = next >= 0 ? static_cast<void*>(own_.data()) : result;
  for (int64_t k = 0; k < chunks && previous >= 0; ++k) start_receive(piece(before, k), previous, kCollective);
  for (int64_t k = 0; k < chunks && next >= 0 && returns; ++k) start_receive(piece(result, k), next, kCollective);
  for (const auto& [peer, data, bytes] : receives) start_receive({data, bytes}, peer, kCollective);
  const size_t results = previous >= 0 ? chunks : 0;  // the first of those in what is pending
  int64_t returned = 0;
  const auto pass_back = [&](bool waits) {
    while (part.returns && part.next >= 0 && part.previous >= 0 && returned < chunks) {
      if (waits) wait(results + returned + 1);
      if (!carrier_.is_done(pending_[results + returned])) return;
      start_send(piece(part.result, returned++), part.previous, kCollective);
    }
  };
  sources_.assign(own.begin(), own.end());
  if (previous >= 0) sources_.insert(sources_.begin(), before);
  auto send = sends.begin();
  for (int64_t k = 0; k < chunks; ++k) {
    if (previous >= 0) wait(static_cast<size_t>(k) + 1);
    const int64_t begin = k * per_chunk, end = std::min(count, begin + per_chunk);
    reduce_elements(sources_, {&made, 1}, begin, end, call.dtype, call.reduce);
    if (next >= 0 || returns) start_send(piece(made, k), next >= 0 ? next : previous, kCollective);
    const std::byte* const until = static_cast<std::byte*>(made) + end * item;
    for (; send != sends.end() && static_cast<std::byte*>(send->data) + send->bytes <= until; ++send) {
      start_send({send->data, send->bytes}, send->peer, kCollective);
    }
    pass_back(/*waits=*/false);
  }
  pass_back(/*waits=*/true);
  wait();
}

void MessageGroup::check_came() const {
  const auto refuse = [&](const std::string& how) {
    throw RuntimeFailure(ExitCode::ranks_disagree, fmt::format("[{}] ranks disagree: {}", name_of(call_->kind), how));
  };
  const auto told = [](const MessageLabel& label) {
    const std::string reduce = label.reduce == Reduce::none ? "" : fmt::format(" {}", name_of(label.reduce));
    return fmt::format("{} {}{}{}", name_of(label.kind), name_of(label.dtype), reduce,
                       label.root < 0 ? "" : fmt::format(" from member {}", label.root));
  };
  for (const PendingMessage& transfer : pending_) {
    if (transfer.way == PendingMessage::Way::send || !carrier_.is_done(transfer)) continue;
    const int peer = world_ranks_[transfer.peer], own = world_ranks_[rank_];
    if (transfer.came_with && *transfer.came_with != transfer.label) {
      refuse(fmt::format("rank {} calls {}, rank {} calls {}", peer, told(*transfer.came_with), own,
                         told(transfer.label)));
    }
    if (transfer.too_long) {
      refuse(fmt::format("rank {} sends more bytes than rank {} expects, got more than {}", peer, own, transfer.bytes));
    }
    if (transfer.came == transfer.bytes) continue;
    refuse(fmt::format("rank {} sends {} bytes, rank {} expects {}", peer, transfer.came, own, transfer.bytes));
  }
}

void MessageGroup::look_for_lost() const {
  for (const PendingMessage& transfer : pending_) {
    const int peer = world_ranks_[transfer.peer];
    if (carrier_.is_done(transfer)) continue;
    if (carrier_.has_left(transfer.peer)) {
      throw RuntimeFailure(ExitCode::ranks_disagree, left_behind(*call_, rank_, {peer}, world_ranks_));
    }
    if (is_gone_(peer)) throw RuntimeFailure(ExitCode::peer_lost, lost(*call_, ended(peer), world_ranks_));
  }
}

void MessageGroup::give_up() const {
  std::vector<int> missing;
  for (const PendingMessage& transfer : pending_) {
    if (!carrier_.is_done(transfer)) missing.push_back(world_ranks_[transfer.peer]);
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  throw RuntimeFailure(ExitCode::peer_stalled, timed_out(*call_, timeout_, missing, world_ranks_));
}

void MessageGroup::withdraw() noexcept {
  if (!carrier_.withdraw(pending_)) failed_ = true;
  pending_.clear();
}

}  // namespace partita
