#pragma once
// Attributes of batch_norm and of the ops it expands to.

#include "base/fields.h"

namespace partita {

/// The rows are (group, member), group major; each group has its own statistics. The gradient has no
/// attributes: it takes the number of groups from mean[groups, c].
struct BatchNormAttrs {
  double epsilon = 1e-5;
  int64_t groups = 1;
  static constexpr auto fields() {
    return std::tuple{field("epsilon", &BatchNormAttrs::epsilon), field("groups", &BatchNormAttrs::groups)};
  }
};

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

/// `count`: elements of one group and channel, global.
struct BatchNormGradApplyAttrs {
  int64_t count = 1;
  static constexpr auto fields() { return std::tuple{field("count", &BatchNormGradApplyAttrs::count)}; }
};

/// new = (1 - momentum) * old + momentum * batch. `epsilon` is the one inside rstd; `count` the elements
/// of one group and channel.
struct RunningStatisticsAttrs {
  double momentum = 0.1, epsilon = 1e-5;
  int64_t count = 1;
  static constexpr auto fields() {
    using A = RunningStatisticsAttrs;
    return std::tuple{field("momentum", &A::momentum), field("epsilon", &A::epsilon), field("count", &A::count)};
  }
};

struct BatchNormInferenceAttrs {
  double epsilon = 1e-5;
  static constexpr auto fields() { return std::tuple{field("epsilon", &BatchNormInferenceAttrs::epsilon)}; }
};

}  // namespace partita
