#include "base/finite.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/past_cache.h"

namespace partita {
namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

/// Returns the bits of infinity: all exponent bits are set.
template <class T>
BitsOf<T> infinity() {
  BitsOf<T> bits;
  const T value = static_cast<T>(std::numeric_limits<float>::infinity());
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Whether no float has all exponent bits set, i.e. the largest masked exponent is not that of infinity.
template <class T>
bool are_finite(const std::byte* from, int64_t count) {
  using Bits = BitsOf<T>;
  const Bits exponent = infinity<T>();
  Bits largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, from + static_cast<size_t>(i) * sizeof bits, sizeof bits);
    largest = std::max(largest, static_cast<Bits>(bits & exponent));
  }
  return largest != exponent;
}

constexpr size_t kVector = kPastCacheBytes;

/// Copies bytes that are too few for a vector, or lie before the first aligned one. Returns whether none of their
/// elements is NaN or infinite.
template <class T>
bool copy_few(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes == 0) return true;  // the pointers may be null
  std::memcpy(to, from, bytes);
  return are_finite<T>(from, static_cast<int64_t>(bytes / sizeof(T)));
}

template <class T>
bool copy_finite(std::byte* to, const std::byte* from, size_t bytes) {
  using Bits = BitsOf<T>;
  typedef Bits Vector __attribute__((vector_size(kVector)));  // NOLINT(modernize-use-using): `using` drops it here
  const size_t before = std::min(bytes, (kVector - reinterpret_cast<uintptr_t>(to) % kVector) % kVector);
  bool good = copy_few<T>(to, from, before);
  const Vector exponent = Vector{} + infinity<T>();
  Vector bad{};
  size_t at = before;
  for (; at + kVector <= bytes; at += kVector) {
    Vector vector;
    std::memcpy(&vector, from + at, kVector);
    bad |= reinterpret_cast<Vector>((vector & exponent) == exponent);
    store_past_cache(to + at, &vector);
  }
  finish_stores_past_cache();
  for (size_t i = 0; i < kVector / sizeof(T); ++i) good &= bad[i] == 0;
  return copy_few<T>(to + at, from + at, bytes - at) && good;
}

}  // namespace

bool are_finite(DType dtype, const void* elements, int64_t count) {
  bool good = true;
  const auto* from = static_cast<const std::byte*>(elements);
  if (is_float(dtype)) for_float(dtype, [&](auto zero) { good = are_finite<decltype(zero)>(from, count); });
  return good;
}

bool copy_finite(DType dtype, void* to, const void* from, int64_t count) {
  auto* const target = static_cast<std::byte*>(to);
  const auto* const source = static_cast<const std::byte*>(from);
  const size_t bytes = static_cast<size_t>(count) * size_of(dtype);
  bool good = true;
  if (is_float(dtype)) {
    for_float(dtype, [&](auto zero) { good = copy_finite<decltype(zero)>(target, source, bytes); });
  } else if (bytes > 0) {
    std::memcpy(target, source, bytes);
  }
  return good;
}

}  // namespace partita
