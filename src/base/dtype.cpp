#include "base/dtype.h"

#include <algorithm>
#include <cmath>
#include <utility>
#ifdef __F16C__
#include <immintrin.h>
#else
#include "base/native_half.h"
#endif

namespace partita {
namespace {

struct Info {
  std::string_view name;
  size_t size;
};

constexpr Info kInfo[] = {{"f64", 8}, {"f32", 4}, {"bf16", 2}, {"f16", 2}, {"i64", 8}, {"i32", 4},
                          {"u8", 1},  {"u32", 4}, {"bool", 1}, {"i8", 1},  {"i16", 2}, {"u16", 2}};

bool has_sign(DType integer) {
  bool found = false;
  for_integer(integer, [&](auto zero) { found = std::is_signed_v<decltype(zero)>; });
  return found;
}

/// Returns the smallest integer type that holds all numbers of both; i64 if none has the digits for that.
DType smallest_of_both(DType a, DType b) {
  const size_t size = std::max(size_of(a), size_of(b));
  if (has_sign(a) == has_sign(b)) return size_of(a) == size ? a : b;
  const auto [with_sign, without] = has_sign(a) ? std::pair(a, b) : std::pair(b, a);
  if (size_of(with_sign) > size_of(without)) return with_sign;
  return size == 1 ? DType::i16 : size == 2 ? DType::i32 : DType::i64;
}

}  // namespace

size_t size_of(DType dtype) { return kInfo[static_cast<int>(dtype)].size; }

std::string_view name_of(DType dtype) { return kInfo[static_cast<int>(dtype)].name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (DType dtype : kAllDTypes) {
    if (name_of(dtype) == name) return dtype;
  }
  return std::nullopt;
}

bool is_float(DType dtype) { return dtype <= DType::f16; }

bool holds_all_of(DType to, DType from) {
  return to == from || to == DType::f64 || (to == DType::f32 && from != DType::f64);
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const auto is_pair = [&](DType x, DType y) { return (a == x && b == y) || (a == y && b == x); };
  if (is_float(a) || is_float(b)) {
    if (!is_float(a)) return b;
    if (!is_float(b)) return a;
    return is_pair(DType::bf16, DType::f16) ? DType::f32 : (a < b ? a : b);
  }
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  return smallest_of_both(a, b);
}

namespace {

/// Returns a float that rounds to a 16-bit float as `value` does: cut off after the digits of a float, with an odd last
/// digit if something was cut off (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
float rounded_to_odd(double value) {
  const auto near = static_cast<float>(value);
  const double back = near;
  if (back == value || std::isnan(value)) return near;
  const uint32_t bits = std::bit_cast<uint32_t>(near) - (std::abs(back) > std::abs(value) ? 1 : 0);
  return std::bit_cast<float>(bits | 1);
}

}  // namespace

bf16::bf16(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) {
    bits = static_cast<uint16_t>((word >> 16) | 0x40);
  } else {
    bits = static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
}

bf16::bf16(double value) : bf16(rounded_to_odd(value)) {}
f16::f16(double value) : f16(rounded_to_odd(value)) {}

#ifdef __F16C__
f16::f16(float value) : bits(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT)) {}

f16::operator float() const { return _cvtsh_ss(bits); }
#else
static_assert(!std::is_same_v<NativeHalf, f16>, "no conversion of 16-bit floating-point numbers on this target");

f16::f16(float value) : bits(std::bit_cast<uint16_t>(static_cast<NativeHalf>(value))) {}

f16::operator float() const { return static_cast<float>(std::bit_cast<NativeHalf>(bits)); }
#endif

}  // namespace partita
