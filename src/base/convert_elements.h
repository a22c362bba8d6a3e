#pragma once
// Conversion of blocks of numbers. Each element becomes what `convert` of base/number.h makes of it; loops between f32
// and 16-bit floats are vectorized.

#if defined(__AVX2__) || defined(__F16C__)
#include <immintrin.h>
#endif

#include <bit>
#include <cstdint>

#include "base/number.h"
#include "base/rounding.h"

namespace partita {

/// Converts `count` elements. The blocks may not overlap.
template <class From, class To>
void convert_elements(const From* x, To* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = convert<To>(x[i]);
}

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

inline void convert_elements(const float* x, bf16* y, int64_t count) {
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

inline void convert_elements(const bf16* x, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = std::bit_cast<float>(static_cast<uint32_t>(x[i].bits) << 16);
}

#ifdef __F16C__
inline void convert_elements(const float* x, f16* y, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), halves);
  }
  for (; i < count; ++i) y[i] = f16(x[i]);
}

inline void convert_elements(const f16* x, float* y, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
  for (; i < count; ++i) y[i] = x[i];
}
#endif

/// Converts `count` elements between types that are known only when the program runs. The blocks may not overlap.
void convert_elements(DType from, const void* source, DType to, void* target, int64_t count);

}  // namespace partita
