#pragma once
// Stores that leave the caches as they are, where the processor has them: for what is written and not read soon, whose
// memory need not be read first.

#ifdef __AVX__
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstring>

namespace partita {

/// A line of the cache, in bytes. Stores that fill whole ones go to memory without waiting for what was there.
constexpr size_t kCacheLine = 64;
/// What one such store has, to an address that it divides.
constexpr size_t kPastCacheBytes = 32;

inline void store_past_cache(void* to, const void* vector) {
#ifdef __AVX__
  _mm256_stream_si256(static_cast<__m256i*>(to), _mm256_loadu_si256(static_cast<const __m256i*>(vector)));
#else
  std::memcpy(to, vector, kPastCacheBytes);
#endif
}

/// To be called by the thread that stored, before it tells others that what it stored is there.
inline void finish_stores_past_cache() {
#ifdef __AVX__
  _mm_sfence();
#endif
}

}  // namespace partita
