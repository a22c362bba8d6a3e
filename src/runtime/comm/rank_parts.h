#pragma once
// Buffers of collectives in bytes, and the walk over their parts, one for each rank.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>

#include "base/dtype.h"

namespace partita {

/// A part of a buffer.
struct BufferPart {
  void* data = nullptr;
  int64_t bytes = 0;
};

/// Returns the address of a byte of a buffer. Null if the buffer is, as one without elements may be.
inline std::byte* byte_of(const void* data, int64_t byte) {
  return data == nullptr ? nullptr : static_cast<std::byte*>(const_cast<void*>(data)) + byte;
}

/// Copies bytes. Does nothing if source and target are the same, as for calls in place.
inline void copy_bytes(void* target, const void* source, int64_t bytes) {
  if (bytes > 0 && target != source) std::memcpy(target, source, static_cast<size_t>(bytes));
}

/// Walks over a buffer in which the parts of all ranks follow each other.
class RankParts {
 public:
  /// `counts` are the elements of each part, and outlive this object.
  RankParts(const void* data, std::span<const int64_t> counts, DType dtype)
      : next_(byte_of(data, 0)), counts_(counts), item_(static_cast<int64_t>(size_of(dtype))) {}

  /// Returns the part of a rank. To be called once for each rank, in their order.
  BufferPart operator()(size_t rank) {
    const BufferPart part{next_, counts_[rank] * item_};
    next_ = byte_of(next_, part.bytes);
    return part;
  }

 private:
  std::byte* next_;
  std::span<const int64_t> counts_;
  int64_t item_;  // bytes of an element
};

/// Returns where the part of a rank begins in such a buffer, in elements.
inline int64_t begin_of_part(std::span<const int64_t> counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, int64_t{0});
}

}  // namespace partita
