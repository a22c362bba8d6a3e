#pragma once
// Attributes of the optimizers' updates.

#include "base/fields.h"

namespace partita {

struct SgdAttrs {
  double weight_decay = 0;
  static constexpr auto fields() { return std::tuple{field("weight_decay", &SgdAttrs::weight_decay)}; }
};

struct MomentumAttrs {
  double momentum = 0.9, dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;
  static constexpr auto fields() {
    using A = MomentumAttrs;
    return std::tuple{field("momentum", &A::momentum), field("dampening", &A::dampening),
                      field("nesterov", &A::nesterov), field("weight_decay", &A::weight_decay)};
  }
};

}  // namespace partita
