#pragma once

#include "base/fields.h"

namespace partita {

/// `axis`: the dimension of x along which the bias lies.
struct BiasAddAttrs {
  int64_t axis = 1;
  static constexpr auto fields() { return std::tuple{field("axis", &BiasAddAttrs::axis)}; }
};

}  // namespace partita
