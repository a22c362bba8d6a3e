#pragma once
// Attributes of the ops of this folder.

#include "base/fields.h"

namespace partita {

struct ConstantAttrs {
  double value = 0;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  static constexpr auto fields() {
    return std::tuple{field("value", &ConstantAttrs::value), field("dtype", &ConstantAttrs::dtype),
                      field("shape", &ConstantAttrs::shape)};
  }
};

struct IotaAttrs {
  int64_t axis = 0;
  int64_t begin = 0;
  DType dtype = DType::i64;
  std::vector<int64_t> shape{1};
  static constexpr auto fields() {
    return std::tuple{field("axis", &IotaAttrs::axis), field("begin", &IotaAttrs::begin),
                      field("dtype", &IotaAttrs::dtype), field("shape", &IotaAttrs::shape)};
  }
};

struct BroadcastAttrs {
  std::vector<int64_t> shape;
  static constexpr auto fields() { return std::tuple{field("shape", &BroadcastAttrs::shape)}; }
};

struct ReshapeAttrs {
  std::vector<int64_t> shape;
  static constexpr auto fields() { return std::tuple{field("shape", &ReshapeAttrs::shape)}; }
};

struct TransposeAttrs {
  std::vector<int64_t> perm;
  static constexpr auto fields() { return std::tuple{field("perm", &TransposeAttrs::perm)}; }
};

struct SliceAttrs {
  std::vector<int64_t> begin, end;  // per dimension
  static constexpr auto fields() {
    return std::tuple{field("begin", &SliceAttrs::begin), field("end", &SliceAttrs::end)};
  }
};

struct PadAttrs {
  std::vector<int64_t> before, after;  // zeros added per dimension
  static constexpr auto fields() {
    return std::tuple{field("before", &PadAttrs::before), field("after", &PadAttrs::after)};
  }
};

struct ConcatAttrs {
  int64_t axis = 0;
  static constexpr auto fields() { return std::tuple{field("axis", &ConcatAttrs::axis)}; }
};

}  // namespace partita
