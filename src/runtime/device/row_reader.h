#pragma once
// Reads parts of an array in the memory format of a kernel as dense elements.

#include <cstdint>

namespace partita {

/// Reads rows of arrays of one type in one memory format. A row has all elements with one index of the first dimension.
class RowReader {
 public:
  virtual ~RowReader() = default;
  /// Writes rows [first, last) of the array at `from` to `to`, dense. Threads may call it concurrently.
  virtual void read(const void* from, int64_t first, int64_t last, void* to) const noexcept = 0;
  /// Writes rows [first, last) of the array at `from` to `to`, dense, and to `copy`, floats past the caches
  /// (base/past_cache.h): `to` is used soon, the copy is not. `copy` is aligned to an element. Returns whether all
  /// elements are finite, as integers always are.
  virtual bool read_and_copy(const void* from, int64_t first, int64_t last, void* to, void* copy) const = 0;
};

}  // namespace partita
