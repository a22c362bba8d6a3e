#include "runtime/comm/inproc/collectives.h"

#include <algorithm>
#include <array>

#include "runtime/comm/rank_parts.h"
#include "runtime/comm/reduce_kernels.h"

namespace partita {
namespace {

/// One pointer per rank. Never allocates, since a part must not fail while its peers run theirs.
template <class Pointer>
class PointerList {
 public:
  template <class PointerOf>
  PointerList(size_t size, PointerOf&& pointer_of) : size_(size) {
    for (size_t r = 0; r < size; ++r) list_[r] = pointer_of(r);
  }
  operator std::span<const Pointer>() const { return {list_.data(), size_}; }  // NOLINT: a view

 private:
  size_t size_;
  std::array<Pointer, kMaxThreadRanks> list_;
};

/// Reduces the part of the elements that `rank` owns, one of nearly equal parts, over all calls and writes the result
/// to the buffers of all ranks. Does nothing in a group of one rank.
void all_reduce_part(Calls calls, int rank) {
  const Call& call = *calls[rank];
  const auto size = static_cast<int64_t>(calls.size());
  if (size == 1) return;
  // Chunks begin on cache lines, so that no two owners share one.
  const int64_t line = 64 / static_cast<int64_t>(size_of(call.dtype));
  const int64_t lines = (call.count + line - 1) / line;
  const auto start = [&](int64_t r) {
    const int64_t owned = lines / size * r + std::min(r, lines % size);
    return std::min(call.count, owned * line);
  };
  PointerList<const void*> sources(calls.size(), [&](size_t r) { return calls[r]->recv; });
  PointerList<void*> results(calls.size(), [&](size_t r) { return calls[r]->recv; });
  reduce_elements(sources, results, start(rank), start(rank + 1), call.dtype, call.reduce);
}

void all_gather_part(Calls calls, int rank) {
  const Call& call = *calls[rank];
  RankParts parts(call.recv, call.counts, call.dtype);
  for (size_t r = 0; r < calls.size(); ++r) {
    const BufferPart part = parts(r);
    copy_bytes(part.data, calls[r]->send, part.bytes);
  }
}

void reduce_scatter_part(Calls calls, int rank) {
  const Call& call = *calls[rank];
  const int64_t offset = begin_of_part(call.counts, rank) * static_cast<int64_t>(size_of(call.dtype));
  PointerList<const void*> sources(calls.size(), [&](size_t r) { return byte_of(calls[r]->send, offset); });
  PointerList<void*> results(1, [&](size_t) { return call.recv; });
  reduce_elements(sources, results, 0, call.counts[rank], call.dtype, call.reduce);
}

void all_to_all_part(Calls calls, int rank) {
  const Call& call = *calls[rank];
  RankParts parts(call.recv, call.recv_counts, call.dtype);
  for (size_t r = 0; r < calls.size(); ++r) {
    const BufferPart part = parts(r);
    const int64_t source = begin_of_part(calls[r]->counts, rank) * static_cast<int64_t>(size_of(call.dtype));
    copy_bytes(part.data, byte_of(calls[r]->send, source), part.bytes);
  }
}

void broadcast_part(Calls calls, int rank) {
  const Call& call = *calls[rank];
  copy_bytes(call.recv, calls[call.root]->recv, call.count * static_cast<int64_t>(size_of(call.dtype)));
}

}  // namespace

void move_data(Calls calls, int rank) {
  switch (calls[rank]->kind) {
    case Collective::all_reduce: return all_reduce_part(calls, rank);
    case Collective::all_gather: return all_gather_part(calls, rank);
    case Collective::reduce_scatter: return reduce_scatter_part(calls, rank);
    case Collective::all_to_all: return all_to_all_part(calls, rank);
    case Collective::broadcast: return broadcast_part(calls, rank);
    case Collective::barrier:
    case Collective::split: return;
    default: throw InternalError("[move_data] send, recv and leave are no meetings");
  }
}

int64_t bytes_moved(Calls calls) {
  int64_t elements = 0;
  for (const Call* call : calls) elements += call->count;
  return elements * static_cast<int64_t>(size_of(calls[0]->dtype));
}

}  // namespace partita
