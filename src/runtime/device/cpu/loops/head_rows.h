#pragma once
// Rows of one head of attention's tensors. Those of 16 bits are widened and rounded in rooms for one head.

#include <algorithm>

#include "runtime/device/cpu/loops/halves.h"

namespace partita {

/// Rows of one head in T, `stride` elements apart. Rows of bf16 are also there as they are stored.
template <class T>
struct HeadRows {
  T* data = nullptr;  // null if they were not widened
  int64_t stride = 0;
  const bf16* halves = nullptr;
  int64_t halves_stride = 0;

  T* row(int64_t i) const { return data + i * stride; }
};

/// Operand of attention in T, all heads in rows. If T is float, its elements may have 16 bits.
template <class T>
class HeadOperand {
 public:
  HeadOperand() = default;
  /// `row` and `width` are the numbers of elements in a row of all heads and of one head.
  HeadOperand(const void* data, DType dtype, int64_t row, int64_t width)
      : data_(data), dtype_(dtype), row_(row), width_(width) {}

  DType dtype() const { return dtype_; }

  /// Returns `count` rows of the head whose first element is `begin`: where they are, or widened into `room`, unless
  /// that is null.
  HeadRows<const T> read(int64_t begin, int64_t count, T* room) const {
    if (!is_half(dtype_)) return {static_cast<const T*>(data_) + begin, row_};
    HeadRows<const T> rows{room, width_};
    if (dtype_ == DType::bf16) {
      rows.halves = static_cast<const bf16*>(data_) + begin;
      rows.halves_stride = row_;
    }
    if (room == nullptr) return rows;
    const LoopOperand<T> stored(data_, dtype_);
    for (int64_t i = 0; i < count; ++i) stored.read(begin + i * row_, width_, room + i * width_);
    return rows;
  }

 private:
  const void* data_ = nullptr;
  DType dtype_ = DType::f32;
  int64_t row_ = 0, width_ = 0;
};

/// Result of attention in T, all heads in rows. If T is float, its elements may have 16 bits.
template <class T>
class HeadResult {
 public:
  /// `row` and `width` are the numbers of elements in a row of all heads and of one head.
  HeadResult(void* data, DType dtype, int64_t row, int64_t width)
      : data_(data), dtype_(dtype), row_(row), width_(width) {}

  /// Returns where the rows of the head whose first element is `begin` are computed: in the result, or in `room`.
  HeadRows<T> place(int64_t begin, T* room) const {
    if (is_half(dtype_)) return {room, width_};
    return {static_cast<T*>(data_) + begin, row_};
  }
  /// Rounds `count` rows from `place(begin, room)`. Does nothing unless they have 16 bits.
  void store(int64_t begin, int64_t count, const T* room) const {
    if (!is_half(dtype_)) return;
    const LoopResult<T> stored(data_, dtype_);
    for (int64_t i = 0; i < count; ++i) stored.store(begin + i * row_, width_, room + i * width_);
  }
  /// Sets rows to 0 in `place(begin, room)`.
  void clear(int64_t begin, int64_t count, T* room) const {
    const HeadRows<T> rows = place(begin, room);
    for (int64_t i = 0; i < count; ++i) std::fill_n(rows.row(i), width_, T{});
  }

 private:
  void* data_;
  DType dtype_;
  int64_t row_, width_;
};

/// Rooms of a thread for the rows of one head: of all keys, and of a block of queries.
template <class T>
struct HeadRooms {
  T *q = nullptr, *k = nullptr, *v = nullptr, *y = nullptr;

  /// Places rooms from `begin` on. Returns the first element after them.
  T* place(T* begin, int64_t queries, int64_t keys, int64_t width, int64_t value_width) {
    q = begin;
    k = q + queries * width;
    v = k + keys * width;
    y = v + keys * value_width;
    return y + queries * value_width;
  }
};

}  // namespace partita
