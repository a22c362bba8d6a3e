#include "runtime/comm/messages/message_group.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "runtime/comm/rank_parts.h"
#include "runtime/comm/reduce_kernels.h"

namespace partita {
namespace {

constexpr int64_t kReduceBytes = int64_t{256} << 10, kMaxChunks = 64;  // chunks of the part that a rank reduces
constexpr int64_t kBarrierBytes = 1;
constexpr int64_t kLeaveBytes = 13;  // not a multiple of any element size but 1

}  // namespace

MessageGroup::MessageGroup(Carrier& carrier, std::span<const int> world_ranks, const WorldState& world,
                           std::function<bool(int)> is_gone)
    : messages_(carrier, world_ranks, world, std::move(is_gone)), rank_(messages_.rank()), size_(messages_.size()) {}

void MessageGroup::run(const Call& call, Timeout timeout) {
  messages_.run(call, timeout, /*for_all=*/true, [&] {
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
  });
}

void MessageGroup::send(const Call& call, int to, Timeout timeout) {
  messages_.run(call, timeout, /*for_all=*/false, [&] {
    messages_.start_send({const_cast<void*>(call.send), call.count * item_bytes(call)}, to,
                         CallMessages::point_to_point);
    messages_.wait();
  });
}

void MessageGroup::recv(const Call& call, int from, Timeout timeout) {
  messages_.run(call, timeout, /*for_all=*/false, [&] {
    messages_.start_receive({call.recv, call.count * item_bytes(call)}, from, CallMessages::point_to_point);
    messages_.wait();
  });
}

void MessageGroup::compare_members(const Call& call) {
  // Each rank's members, padded with -1.
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
  if (const auto text = disagreement([&](int r) -> const Call& { return calls[r]; }, messages_.world_ranks())) {
    throw RuntimeFailure(ExitCode::ranks_disagree, fmt::format("[split] ranks disagree: {}", *text));
  }
}

void MessageGroup::all_reduce(const Call& call) {
  const int64_t item = item_bytes(call), per_round = Carrier::kMaxBytes / item;
  for (int64_t done = 0; done < call.count; done += per_round) {
    reduce_parts(call, static_cast<std::byte*>(call.recv) + done * item, std::min(call.count - done, per_round));
  }
}

/// Reduces `count` elements at `data` in place on all ranks. Each rank reduces a part of them, chunk by chunk, and
/// sends a reduced chunk to all ranks while later ones are still received. Throws RankFailures, and RuntimeFailure if
/// the carrier fails.
void MessageGroup::reduce_parts(const Call& call, std::byte* data, int64_t count) {
  const int64_t item = item_bytes(call),
                chunks = std::clamp<int64_t>(count / size_ * item / kReduceBytes, 1, kMaxChunks);
  // In elements: begin of a rank's part, and begin of a chunk inside that part.
  const auto part = [&](int64_t r) { return r * count / size_; };
  const auto chunk = [&](int64_t r, int64_t k) { return k * (part(r + 1) - part(r)) / chunks; };
  const auto piece = [&](int r, int64_t k) {
    return BufferPart{data + (part(r) + chunk(r, k)) * item, (chunk(r, k + 1) - chunk(r, k)) * item};
  };
  const auto for_others = [&](const auto& start) {
    for (int r = 0; r < size_; ++r) {
      if (r != rank_) start(r);
    }
  };
  void* const own = data + part(rank_) * item;
  const int64_t mine = (part(rank_ + 1) - part(rank_)) * item;
  make_room(buffers_.parts, mine * size_);
  const auto received = [&](int64_t r) { return buffers_.parts.data() + r * mine; };
  buffers_.sources.clear();
  for (int r = 0; r < size_; ++r) buffers_.sources.push_back(r == rank_ ? own : received(r));
  std::vector<size_t> begun;  // number of messages begun up to each chunk
  for (int64_t k = 0; k < chunks; ++k) {
    for_others([&](int r) {
      messages_.start_receive({received(r) + chunk(rank_, k) * item, piece(rank_, k).bytes}, r);
    });
    for_others([&](int r) { messages_.start_send(piece(r, k), r); });
    begun.push_back(messages_.started());
  }
  for (int64_t k = 0; k < chunks; ++k) {
    messages_.wait(begun[static_cast<size_t>(k)]);  // other ranks have these elements, so they may be overwritten
    for_others([&](int r) { messages_.start_receive(piece(r, k), r); });
    reduce_elements(buffers_.sources, {&own, 1}, chunk(rank_, k), chunk(rank_, k + 1), call.dtype, call.reduce);
    for_others([&](int r) { messages_.start_send(piece(rank_, k), r); });
  }
  messages_.wait();
}

void MessageGroup::reduce_scatter(const Call& call, const void* send, void* recv, std::span<const int64_t> counts) {
  const int64_t item = item_bytes(call), mine = counts[rank_] * item;
  make_room(buffers_.parts, mine * size_);
  buffers_.sources.clear();
  for (int r = 0; r < size_; ++r) buffers_.sources.push_back(buffers_.parts.data() + r * mine);
  RankParts parts(send, counts, call.dtype);
  exchange(
      [&](int r) {
        const BufferPart piece = parts(r);
        if (r == rank_) buffers_.sources[r] = piece.data;
        return piece;
      },
      [&](int r) {
        return r == rank_ ? BufferPart{} : BufferPart{const_cast<void*>(buffers_.sources[r]), mine};
      });
  reduce_elements(buffers_.sources, {&recv, 1}, 0, counts[rank_], call.dtype, call.reduce);
}

void MessageGroup::all_gather(const Call& call, const void* own, void* all, std::span<const int64_t> counts) {
  const BufferPart piece{const_cast<void*>(own), counts[rank_] * item_bytes(call)};
  exchange([&](int) { return piece; }, RankParts(all, counts, call.dtype));
}

void MessageGroup::all_to_all(const Call& call) {
  exchange(RankParts(call.send, call.counts, call.dtype), RankParts(call.recv, call.recv_counts, call.dtype));
}

void MessageGroup::broadcast(const Call& call) {
  const BufferPart all{call.recv, call.count * item_bytes(call)};
  if (rank_ != call.root) messages_.start_receive(all, call.root);
  for (int r = 0; r < size_ && rank_ == call.root; ++r) {
    if (r != rank_) messages_.start_send(all, r);
  }
  messages_.wait();
}

void MessageGroup::barrier(int64_t bytes) {
  // Dissemination (Hensgen, Finkel, Manber, 1988): after round k each rank knows of 2^k ranks before it.
  std::array<std::byte, kLeaveBytes> here{}, there{};
  for (int step = 1; step < size_; step *= 2) {
    messages_.start_receive({there.data(), bytes}, (rank_ + size_ - step) % size_);
    messages_.start_send({here.data(), bytes}, (rank_ + step) % size_);
    messages_.wait();
  }
}

void MessageGroup::leave() {
  const Call call{.kind = Collective::leave};
  messages_.run(call, Timeout::max(), /*for_all=*/true, [&] { barrier(kLeaveBytes); });
}

template <class Give, class Take>
void MessageGroup::exchange(Give give, Take take) {
  BufferPart own;
  for (int r = 0; r < size_; ++r) {
    const BufferPart piece = take(r);
    if (r == rank_) {
      own = piece;
    } else {
      messages_.start_receive(piece, r);
    }
  }
  for (int r = 0; r < size_; ++r) {
    const BufferPart piece = give(r);
    if (r != rank_) {
      messages_.start_send(piece, r);
    } else {
      copy_bytes(own.data, piece.data, own.bytes);
    }
  }
  messages_.wait();
}

void MessageGroup::chain_reduce(const Call& call, const ChainPart& part, Timeout timeout) {
  messages_.run(call, timeout, /*for_all=*/true, [&] { partita::chain_reduce(messages_, call, part, buffers_); });
}

void MessageGroup::move(const Call& call, std::span<const MessagePiece> sends, std::span<const MessagePiece> receives,
                        Timeout timeout) {
  messages_.run(call, timeout, /*for_all=*/true, [&] {
    for (const auto& [peer, data, bytes] : receives) messages_.start_receive({data, bytes}, peer);
    for (const auto& [peer, data, bytes] : sends) messages_.start_send({data, bytes}, peer);
    messages_.wait();
  });
}

}  // namespace partita
