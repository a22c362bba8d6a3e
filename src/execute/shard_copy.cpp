#include "execute/shard_copy.h"

#include <cstring>

namespace partita {
namespace {

/// Calls fn(byte offset in the whole, byte offset in the part, bytes) for each contiguous run.
template <class Fn>
void for_runs(const Type& whole, const std::vector<Range>& ranges, Fn&& fn) {
  const int64_t size = static_cast<int64_t>(size_of(whole.dtype));
  int64_t part_elements = 1;
  for (const Range& range : ranges) part_elements *= range.count();
  if (part_elements == 0) return;
  int last = static_cast<int>(ranges.size()) - 1;  // the run covers the dimensions after `last` whole
  int64_t run = 1;
  while (last >= 0 && ranges[last].whole()) run *= whole.shape[last--];
  if (last >= 0) run *= ranges[last].count();
  const Shape strides = strides_of(whole.shape);
  for (int64_t done = 0; done < part_elements; done += run) {
    int64_t rest = done / run, offset = 0;
    for (int d = last - 1; d >= 0; --d) {
      offset += (ranges[d].begin + rest % ranges[d].count()) * strides[d];
      rest /= ranges[d].count();
    }
    if (last >= 0) offset += ranges[last].begin * strides[last];
    fn(offset * size, done * size, run * size);
  }
}

}  // namespace

void copy_part(ConstTensor whole, const std::vector<Range>& ranges, void* part) {
  for_runs(whole.type, ranges, [&](int64_t from, int64_t to, int64_t bytes) {
    std::memcpy(static_cast<char*>(part) + to, static_cast<const char*>(whole.data) + from, bytes);
  });
}

void copy_back(const void* part, const std::vector<Range>& ranges, Tensor whole) {
  for_runs(whole.type, ranges, [&](int64_t to, int64_t from, int64_t bytes) {
    std::memcpy(static_cast<char*>(whole.data) + to, static_cast<const char*>(part) + from, bytes);
  });
}

}  // namespace partita
