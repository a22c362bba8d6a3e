#include "runtime/execute/shard_copy.h"

#include <cstring>

#include "ir/sharding/box_runs.h"
#include "runtime/comm/round_bf16.h"

namespace partita {
namespace {

/// Calls fn(byte offset in the whole, byte offset in the part, bytes) for each contiguous run of the elements of
/// `whole` inside `ranges`; the part is these elements, dense.
template <class Fn>
void for_runs(const Type& whole, const Box& ranges, Fn&& fn) {
  const auto size = static_cast<int64_t>(size_of(whole.dtype));
  for_common_runs(ranges, whole_box(whole.shape), ranges,
                  [&](int64_t offset, int64_t done, int64_t run) { fn(offset * size, done * size, run * size); });
}

}  // namespace

void copy_part(ConstTensor whole, const Box& ranges, void* part) {
  for_runs(whole.type, ranges, [&](int64_t from, int64_t to, int64_t bytes) {
    std::memcpy(static_cast<char*>(part) + to, static_cast<const char*>(whole.data) + from, bytes);
  });
}

void round_part(ConstTensor whole, const Box& ranges, void* part) {
  for_runs(whole.type, ranges, [&](int64_t from, int64_t to, int64_t bytes) {
    round_to_bf16(static_cast<const char*>(whole.data) + from, static_cast<char*>(part) + to / 2, bytes / 4);
  });
}

void copy_back(const void* part, const Box& ranges, Tensor whole) {
  for_runs(whole.type, ranges, [&](int64_t to, int64_t from, int64_t bytes) {
    std::memcpy(static_cast<char*>(whole.data) + to, static_cast<const char*>(part) + from, bytes);
  });
}

}  // namespace partita
