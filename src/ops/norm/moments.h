#pragma once
// Attributes of moments and moments_finish: sums over rows, and the mean and rstd that they give.

#include "base/fields.h"

namespace partita {

struct MomentsAttrs {
  int64_t groups = 1;
  static constexpr auto fields() { return std::tuple{field("groups", &MomentsAttrs::groups)}; }
};

/// `count`: elements behind each sum; `dtype`: of the results.
struct MomentsFinishAttrs {
  int64_t count = 1;
  double epsilon = 1e-5;
  DType dtype = DType::f32;
  static constexpr auto fields() {
    using A = MomentsFinishAttrs;
    return std::tuple{field("count", &A::count), field("epsilon", &A::epsilon), field("dtype", &A::dtype)};
  }
};

}  // namespace partita
