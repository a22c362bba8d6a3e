#pragma once
// Floats of 16 bits in loops that compute in f32: operands are widened and results rounded, block by block, while they
// are in the cache. The bits are those of casts before and after the loop.

#if defined(__AVX2__) || defined(__F16C__)
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

#ifdef __AVX2__
/// Returns bf16_bits of eight floats, in 32 bits each.
inline __m256i bf16_words(const float* x) {
  const __m256i word = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  const __m256i high = _mm256_srli_epi32(word, 16);
  const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_srli_epi32(_mm256_add_epi32(word, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  const __m256i magnitude = _mm256_and_si256(word, _mm256_set1_epi32(0x7fffffff));
  const __m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000));
  return _mm256_blendv_epi8(rounded, _mm256_or_si256(high, _mm256_set1_epi32(0x40)), is_nan);
}
#endif

inline void convert(const float* x, bf16* y, int64_t count) {
  int64_t whole = 0;
#ifdef __AVX2__
  whole = count - count % 16;
  for (int64_t i = 0; i < whole; i += 16) {
    const __m256i lanes = _mm256_packus_epi32(bf16_words(x + i), bf16_words(x + i + 8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), _mm256_permute4x64_epi64(lanes, 0xd8));
  }
#endif
  for (int64_t i = whole; i < count; ++i) y[i].bits = bf16_bits(std::bit_cast<uint32_t>(x[i]));
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

/// Converts `count` elements. Those to 16 bits round once, to nearest, ties to even.
template <class From, class To>
void convert(const From* x, To* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<To>(x[i]);
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
