#pragma once
// Non-temporal stores, which bypass the caches where the processor supports them. For data that is written and not read
// soon: its memory need not be read first.

#ifdef __AVX__
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstring>

namespace partita {

/// Size of a cache line in bytes. Stores that fill whole lines go to memory without first reading the old contents.
constexpr size_t kCacheLine = 64;
/// Bytes per non-temporal store; also the alignment of its address.
constexpr size_t kPastCacheBytes = 32;

/// Copies kPastCacheBytes bytes from `vector` to `to`, past the caches. `to` is aligned to kPastCacheBytes.
inline void store_past_cache(void* to, const void* vector) {
#ifdef __AVX__
  _mm256_stream_si256(static_cast<__m256i*>(to), _mm256_loadu_si256(static_cast<const __m256i*>(vector)));
#else
  std::memcpy(to, vector, kPastCacheBytes);
#endif
}

/// Makes the stores visible to other threads in order. The storing thread calls it before it tells others that the data
/// is ready.
inline void finish_stores_past_cache() {
#ifdef __AVX__
  _mm_sfence();
#endif
}

}  // namespace partita
