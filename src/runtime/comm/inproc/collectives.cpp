#include "runtime/comm/inproc/collectives.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "runtime/comm/reduce_kernels.h"

namespace partita {
namespace {

const std::byte* at(const void* data, int64_t index, DType dtype) {
  return static_cast<const std::byte*>(data) + index * static_cast<int64_t>(size_of(dtype));
}

std::byte* at(void* data, int64_t index, DType dtype) {
  return static_cast<std::byte*>(data) + index * static_cast<int64_t>(size_of(dtype));
}

/// Copies elements. Does nothing if source and target are the same, as for calls in place.
void copy(void* target, const void* source, int64_t count, DType dtype) {
  if (count > 0 && target != source) std::memcpy(target, source, count * size_of(dtype));
}

int64_t sum_before(std::span<const int64_t> counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, int64_t{0});
}

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
  int64_t offset = 0;
  for (size_t r = 0; r < calls.size(); ++r) {
    copy(at(call.recv, offset, call.dtype), calls[r]->send, call.counts[r], call.dtype);
    offset += call.counts[r];
  }
}

void reduce_scatter_part(Calls calls, int rank) {
  const Call& call = *calls[rank];
  const int64_t offset = sum_before(call.counts, rank);
  PointerList<const void*> sources(calls.size(), [&](size_t r) { return at(calls[r]->send, offset, call.dtype); });
  PointerList<void*> results(1, [&](size_t) { return call.recv; });
  reduce_elements(sources, results, 0, call.counts[rank], call.dtype, call.reduce);
}

void all_to_all_part(Calls calls, int rank) {
  const Call& call = *calls[rank];
  int64_t offset = 0;
  for (size_t r = 0; r < calls.size(); ++r) {
    const int64_t source = sum_before(calls[r]->counts, rank);
    copy(at(call.recv, offset, call.dtype), at(calls[r]->send, source, call.dtype), call.recv_counts[r], call.dtype);
    offset += call.recv_counts[r];
  }
}

void broadcast_part(Calls calls, int rank) {
  const Call& call = *calls[rank];
  copy(call.recv, calls[call.root]->recv, call.count, call.dtype);
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
