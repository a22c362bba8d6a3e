#pragma once
// Attributes of the ops of this folder.

#include "base/fields.h"

namespace partita {

/// `scale` multiplies a sum. A mean is a sum with scale 1 / N, where N is global.
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

/// `exclusive`: without the element itself. `reverse`: from the end.
struct CumsumAttrs {
  int64_t axis = 0;
  bool exclusive = false, reverse = false;
  static constexpr auto fields() {
    return std::tuple{field("axis", &CumsumAttrs::axis), field("exclusive", &CumsumAttrs::exclusive),
                      field("reverse", &CumsumAttrs::reverse)};
  }
};

}  // namespace partita
