#pragma once
// Floats of 16 bits in loops that compute in f32: operands are widened and results rounded, block by block, while they
// are in the cache. The bits are those of casts before and after the loop.

#ifdef __F16C__
#include <immintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "base/rounding.h"

namespace partita {

/// Elements that a loop widens or rounds at a time.
inline constexpr int64_t kHalfBlock = 1024;

inline void convert(const float* x, bf16* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    y[i].bits = bf16_bits(std::bit_cast<uint32_t>(x[i]));
  }
}

inline void convert(const bf16* x, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = std::bit_cast<float>(static_cast<uint32_t>(x[i].bits) << 16);
}

#ifdef __F16C__
inline void convert(const float* x, f16* y, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), halves);
  }
  for (; i < count; ++i) y[i] = f16(x[i]);
}

inline void convert(const f16* x, float* y, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
  for (; i < count; ++i) y[i] = x[i];
}
#endif

/// Converts `count` elements. Those to 16 bits round to nearest, ties to even, by way of f32.
template <class From, class To>
void convert(const From* x, To* y, int64_t count) {
  using Step = std::conditional_t<sizeof(To) == 2, float, To>;
  for (int64_t i = 0; i < count; ++i) y[i] = To(static_cast<Step>(x[i]));
}

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
    convert(static_cast<const Half*>(data_) + begin, room, count);
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
      if (dtype_ == DType::bf16) convert(room, static_cast<bf16*>(data_) + begin, count);
      if (dtype_ == DType::f16) convert(room, static_cast<f16*>(data_) + begin, count);
    }
  }

 private:
  void* data_;
  DType dtype_;
};

}  // namespace partita
