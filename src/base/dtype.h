#pragma once
// Element types: names, sizes, promotion, and the two 16-bit floats as C++ types.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace partita {

enum class DType : uint8_t { f64, f32, bf16, f16, i64, i32, u8, u32, boolean, i8, i16, u16 };

inline constexpr DType kAllDTypes[] = {DType::f64, DType::f32, DType::bf16,    DType::f16, DType::i64, DType::i32,
                                       DType::u8,  DType::u32, DType::boolean, DType::i8,  DType::i16, DType::u16};

/// Returns the size of one element in bytes.
size_t size_of(DType dtype);
/// Returns the name of an element type: "f64", "f32", "bf16", "f16", "i64", "i32", "u8", "u32", "bool",
/// "i8", "i16" or "u16".
std::string_view name_of(DType dtype);
/// Returns the element type called `name`, or nothing if there is none.
std::optional<DType> parse_dtype(std::string_view name);
/// Whether `dtype` is f64, f32, bf16 or f16.
bool is_float(DType dtype);
/// Whether `dtype` is bf16 or f16.
inline bool is_half(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

/// Whether every number of the float type `from` is one of the float type `to`.
bool holds_all_of(DType to, DType from);

/// Returns the result type of an operation that mixes `a` and `b`; this is the only promotion table. Of two floats it
/// is the wider one, but f32 for bf16 and f16. A float wins over integers, and every type over bool. Of two integer
/// types it is the smallest one that holds both.
DType promote(DType a, DType b);

/// Returns a double that rounds to a type of fewer digits as the integer does: beyond 2^53, the digits that a double
/// lacks are replaced by one that says whether any of them is set.
template <std::integral T>
double rounded_to_sticky(T value) {
  if constexpr (sizeof(T) == 8) {
    constexpr T kExact = T{1} << 53, kLacking = 0xfff;
    bool is_beyond = value > kExact;
    if constexpr (std::is_signed_v<T>) is_beyond = is_beyond || value < -kExact;
    if (is_beyond) value = (value & ~kLacking) | ((value & kLacking) != 0 ? 0x800 : 0);
  }
  return static_cast<double>(value);
}

/// Brain float: the upper half of an f32. Conversion from a number rounds once, to nearest even.
struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  bf16(float value);   // NOLINT: converts like a built-in type
  bf16(double value);  // NOLINT
  template <std::integral T>
  bf16(T value) : bf16(rounded_to_sticky(value)) {}                              // NOLINT
  operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }  // NOLINT
};

/// IEEE half precision. Conversion from a number rounds once, to nearest even.
struct f16 {
  uint16_t bits = 0;
  f16() = default;
  f16(float value);   // NOLINT: converts like a built-in type
  f16(double value);  // NOLINT
  template <std::integral T>
  f16(T value) : f16(rounded_to_sticky(value)) {}  // NOLINT
  operator float() const;                          // NOLINT
};

/// The dtype of a C++ type, as `value`.
template <class T>
struct DTypeOf;
template <DType kDType>
using IsDType = std::integral_constant<DType, kDType>;
template <>
struct DTypeOf<double> : IsDType<DType::f64> {};
template <>
struct DTypeOf<float> : IsDType<DType::f32> {};
template <>
struct DTypeOf<bf16> : IsDType<DType::bf16> {};
template <>
struct DTypeOf<f16> : IsDType<DType::f16> {};
template <>
struct DTypeOf<int64_t> : IsDType<DType::i64> {};
template <>
struct DTypeOf<int32_t> : IsDType<DType::i32> {};
template <>
struct DTypeOf<uint8_t> : IsDType<DType::u8> {};
template <>
struct DTypeOf<uint32_t> : IsDType<DType::u32> {};
template <>
struct DTypeOf<bool> : IsDType<DType::boolean> {};
template <>
struct DTypeOf<int8_t> : IsDType<DType::i8> {};
template <>
struct DTypeOf<int16_t> : IsDType<DType::i16> {};
template <>
struct DTypeOf<uint16_t> : IsDType<DType::u16> {};

/// Calls `fn` with a zero of the C++ type of a float dtype. Throws InternalError for other dtypes.
template <class Fn>
void for_float(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::f64: return fn(double{});
    case DType::f32: return fn(float{});
    case DType::bf16: return fn(bf16{});
    case DType::f16: return fn(f16{});
    default: throw InternalError("[for_float] not a float type");
  }
}

/// Calls `fn` with a zero of the C++ type of an integer or bool dtype. Throws InternalError for other dtypes.
template <class Fn>
void for_integer(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::i64: return fn(int64_t{});
    case DType::i32: return fn(int32_t{});
    case DType::u8: return fn(uint8_t{});
    case DType::u32: return fn(uint32_t{});
    case DType::boolean: return fn(bool{});
    case DType::i8: return fn(int8_t{});
    case DType::i16: return fn(int16_t{});
    case DType::u16: return fn(uint16_t{});
    default: throw InternalError("[for_integer] not an integer type");
  }
}

/// Calls `fn` with a zero of the C++ type of any dtype.
template <class Fn>
void for_dtype(DType dtype, Fn&& fn) {
  if (is_float(dtype)) return for_float(dtype, fn);
  for_integer(dtype, fn);
}

}  // namespace partita
