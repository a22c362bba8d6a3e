#pragma once
// Attributes of reduce.

#include "base/fields.h"

namespace partita {

/// `scale` multiplies a sum: a mean is a sum with scale 1 / N, N being global.
struct ReduceAttrs {
  Reduce kind = Reduce::sum;
  std::vector<int64_t> axes;
  bool keep_dims = false;
  double scale = 1;
  static constexpr auto fields() {
    return std::tuple{field("kind", &ReduceAttrs::kind), field("axes", &ReduceAttrs::axes),
                      field("keep_dims", &ReduceAttrs::keep_dims), field("scale", &ReduceAttrs::scale)};
  }
};

}  // namespace partita
