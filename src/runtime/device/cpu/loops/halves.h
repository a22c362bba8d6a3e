#pragma once
// Floats of 16 bits in loops that compute in f32: operands are widened and results rounded, block by block, while they
// are in the cache. The bits are those of casts before and after the loop.

#include <cstdint>
#include <type_traits>

#include "base/convert_elements.h"

namespace partita {

/// Elements that a loop widens or rounds at a time.
inline constexpr int64_t kHalfBlock = 1024;

/// Operand of a loop in T. If T is float, its elements may have 16 bits.
template <class T>
class LoopOperand {
 public:
  LoopOperand(const void* data, DType dtype) : data_(data), dtype_(dtype) {}

  /// Returns `count` elements from `begin` on: where they are, or widened into `room`.
  const T* read(int64_t begin, int64_t count, T* room) const {
    if constexpr (std::is_same_v<T, float>) {
      if (dtype_ == DType::bf16) return widened<bf16>(begin, count, room);
      if (dtype_ == DType::f16) return widened<f16>(begin, count, room);
    }
    return static_cast<const T*>(data_) + begin;
  }

 private:
  template <class Half>
  const T* widened(int64_t begin, int64_t count, T* room) const {
    convert_elements(static_cast<const Half*>(data_) + begin, room, count);
    return room;
  }

  const void* data_;
  DType dtype_;
};

/// Result of a loop in T. If T is float, its elements may have 16 bits.
template <class T>
class LoopResult {
 public:
  LoopResult(void* data, DType dtype) : data_(data), dtype_(dtype) {}

  /// Returns where the loop writes the elements from `begin` on: in the result, or in `room`.
  T* place(int64_t begin, T* room) const {
    if (std::is_same_v<T, float> && is_half(dtype_)) return room;
    return static_cast<T*>(data_) + begin;
  }
  /// Rounds `count` elements that the loop wrote to `place(begin, room)`. Does nothing unless they have 16 bits.
  void store(int64_t begin, int64_t count, const T* room) const {
    if constexpr (std::is_same_v<T, float>) {
      if (dtype_ == DType::bf16) convert_elements(room, static_cast<bf16*>(data_) + begin, count);
      if (dtype_ == DType::f16) convert_elements(room, static_cast<f16*>(data_) + begin, count);
    }
  }

 private:
  void* data_;
  DType dtype_;
};

}  // namespace partita
