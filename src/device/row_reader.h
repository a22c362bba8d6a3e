#pragma once
// What makes a part of an array dense that lies in the memory format of a kernel.

#include <cstdint>

namespace partita {

/// Reads rows of arrays of one type in one memory format: of each index of the first dimension all elements.
class RowReader {
 public:
  virtual ~RowReader() = default;
  /// Rows [first, last) of the array at `from` to `to`, dense; a scalar is row 0. Threads may call it side by side.
  virtual void read(const void* from, int64_t first, int64_t last, void* to) const = 0;
};

}  // namespace partita
