#pragma once
// What a rank has of a state, to be read while it lies in the memory of an executor.

#include <memory>
#include <utility>

#include "ir/sharding/box_runs.h"
#include "runtime/device/row_reader.h"

namespace partita {

/// Reads a rank's part of a state, as often as it is asked to, while the executor that gave it lives. Threads may call
/// it side by side, between steps.
class StateReader {
 public:
  StateReader(Box box, DType dtype, const void* data, std::unique_ptr<RowReader> rows)
      : box_(std::move(box)), dtype_(dtype), data_(data), rows_(std::move(rows)) {}

  /// Of the whole value.
  const Box& box() const { return box_; }
  DType dtype() const { return dtype_; }
  /// Where its elements lie dense; nullptr: they lie in the memory format of a kernel.
  const void* dense() const { return rows_ == nullptr ? data_ : nullptr; }
  /// The elements of rows [first, last), along the first dimension of the part, to `to`, dense. For those that do not
  /// lie dense.
  void read(int64_t first, int64_t last, void* to) const { rows_->read(data_, first, last, to); }
  /// The same, and a copy of them (runtime/device/row_reader.h). Whether all are finite.
  bool read_and_copy(int64_t first, int64_t last, void* to, void* copy) const {
    return rows_->read_and_copy(data_, first, last, to, copy);
  }

 private:
  Box box_;
  DType dtype_;
  const void* data_;
  std::unique_ptr<RowReader> rows_;  // none: the part is dense
};

}  // namespace partita
