#pragma once
// Shapes, types of tensors, and dense row-major tensors.

#include <limits>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace partita {

using Shape = std::vector<int64_t>;

/// Maximum number of elements of a tensor. Keeps its bytes and strides far from overflow.
inline constexpr int64_t kMaxElements = std::numeric_limits<int64_t>::max() / 16;
/// Maximum number of dimensions of a tensor. A reshape between two such shapes has the most factors of all sharding
/// rules, 5 for every 4 dimensions, and each factor is named by one letter.
inline constexpr int kMaxDims = 20;
/// Whether no size is negative and the number of elements, with each 0 counted as 1, is at most kMaxElements.
bool is_countable(const Shape& shape);

/// Returns the number of elements, 1 for a scalar. It must fit an int64_t (`is_countable`).
int64_t elements(const Shape& shape);
/// Returns the row-major strides, in elements.
Shape strides_of(const Shape& shape);
/// Returns the shape as text: "[2,3]".
std::string print(const Shape& shape);

/// Element type and shape of a tensor.
struct Type {
  DType dtype = DType::f32;
  Shape shape;

  int64_t elements() const { return partita::elements(shape); }
  int64_t bytes() const { return elements() * static_cast<int64_t>(size_of(dtype)); }
  int rank() const { return static_cast<int>(shape.size()); }
  bool operator==(const Type&) const = default;
};

/// Returns the type as text: "f32[2,3]".
std::string print(const Type& type);
/// Returns the types as text: "f32[2,3], i64[2]".
std::string print(const std::vector<Type>& types);
/// Reads a type as `print` writes it. Throws InvalidArgument for other texts, more than kMaxDims dimensions and shapes
/// that are not countable (`is_countable`).
Type parse_type(std::string_view text);

/// A borrowed, read-only, dense row-major tensor.
struct ConstTensor {
  Type type;
  const void* data = nullptr;

  /// Returns the elements. Throws InternalError if T is not the element type.
  template <class T>
  const T* as() const {
    PARTITA_CHECK(DTypeOf<T>::value == type.dtype, "tensor is {}", print(type));
    return static_cast<const T*>(data);
  }
};

/// A borrowed dense row-major tensor.
struct Tensor {
  Type type;
  void* data = nullptr;

  /// Returns the elements. Throws InternalError if T is not the element type.
  template <class T>
  T* as() const {
    PARTITA_CHECK(DTypeOf<T>::value == type.dtype, "tensor is {}", print(type));
    return static_cast<T*>(data);
  }
  operator ConstTensor() const { return {type, data}; }  // NOLINT
};

/// An owned dense row-major tensor, zero-filled on creation. Copies are deep.
class Array {
 public:
  Array() = default;
  explicit Array(Type type);
  template <class T>
  Array(Shape shape, const std::vector<T>& values) : Array(Type{DTypeOf<T>::value, std::move(shape)}) {
    PARTITA_CHECK(static_cast<int64_t>(values.size()) == type_.elements(), "{} values for {}", values.size(),
                  print(type_));
    std::ranges::copy(values, as<T>());
  }

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  template <class T>
  T* as() {
    return tensor().as<T>();
  }
  template <class T>
  const T* as() const {
    return tensor().as<T>();
  }
  Tensor tensor() { return {type_, bytes_.data()}; }
  ConstTensor tensor() const { return {type_, bytes_.data()}; }
  /// Returns element `index` of any type as a double. The index is not checked.
  double at(int64_t index) const;
  void set(int64_t index, double value);

 private:
  Type type_;
  std::vector<std::byte> bytes_;
};

/// Returns the same values in another element type, as `convert` of base/number.h makes them: integer types clamp and
/// drop the fraction. An array that has the type is copied.
Array cast(const Array& array, DType dtype);

}  // namespace partita
