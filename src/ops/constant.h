#pragma once

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

}  // namespace partita
