#pragma once
// Reads the part of a state that a rank holds in the memory of an executor.

#include <memory>
#include <utility>

#include "ir/sharding/box_runs.h"
#include "runtime/device/row_reader.h"

namespace partita {

/// Reads a rank's part of a state any number of times while the executor that returned the reader lives. Threads may
/// call it concurrently, between steps.
class StateReader {
 public:
  StateReader(Box box, DType dtype, const void* data, std::unique_ptr<RowReader> rows)
      : box_(std::move(box)), dtype_(dtype), data_(data), rows_(std::move(rows)) {}

  /// The part's box in the whole value.
  const Box& box() const { return box_; }
  DType dtype() const { return dtype_; }
  /// Address of the dense elements; nullptr if they are in the memory format of a kernel.
  const void* dense() const { return rows_ == nullptr ? data_ : nullptr; }
  /// Writes the elements of rows [first, last) along the part's first dimension to `to`, dense. Only for a part that is
  /// not dense.
  void read(int64_t first, int64_t last, void* to) const { rows_->read(data_, first, last, to); }
  /// Reads as `read` does and also writes the elements to `copy` (runtime/device/row_reader.h). Returns whether all
  /// elements are finite.
  bool read_and_copy(int64_t first, int64_t last, void* to, void* copy) const {
    return rows_->read_and_copy(data_, first, last, to, copy);
  }

 private:
  Box box_;
  DType dtype_;
  const void* data_;
  std::unique_ptr<RowReader> rows_;  // null: the part is dense
};

}  // namespace partita
