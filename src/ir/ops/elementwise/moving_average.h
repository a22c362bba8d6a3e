#pragma once

#include "base/fields.h"

namespace partita {

/// y = keep * average + (1 - keep) * x.
struct MovingAverageAttrs {
  double keep = 0.999;
  static constexpr auto fields() { return std::tuple{field("keep", &MovingAverageAttrs::keep)}; }
};

}  // namespace partita
