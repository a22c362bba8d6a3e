#pragma once

#include "base/fields.h"

namespace partita {

/// y = scale * x + bias.
struct ScaleAttrs {
  double scale = 1, bias = 0;
  static constexpr auto fields() {
    return std::tuple{field("scale", &ScaleAttrs::scale), field("bias", &ScaleAttrs::bias)};
  }
};

}  // namespace partita
