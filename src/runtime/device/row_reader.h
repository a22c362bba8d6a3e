#pragma once
// What makes a part of an array dense that lies in the memory format of a kernel.

#include <cstdint>

namespace partita {

/// Reads rows of arrays of one type in one memory format: of each index of the first dimension all elements.
class RowReader {
 public:
  virtual ~RowReader() = default;
  /// Rows [first, last) of the array at `from` to `to`, dense. Threads may call it side by side.
  virtual void read(const void* from, int64_t first, int64_t last, void* to) const noexcept = 0;
  /// The same, and to `copy`, past the caches (base/past_cache.h): what is at `to` is used soon, the copy is not.
  /// Whether all elements are finite. `copy` is aligned to an element.
  virtual bool read_and_copy(const void* from, int64_t first, int64_t last, void* to, void* copy) const = 0;
};

}  // namespace partita
