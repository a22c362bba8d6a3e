#pragma once
// Attributes of cross_entropy_grad.

#include "base/fields.h"

namespace partita {

/// The logits held are classes [begin, begin + z) of `classes`.
struct CrossEntropyGradAttrs {
  int64_t classes = 1, begin = 0;
  static constexpr auto fields() {
    return std::tuple{field("classes", &CrossEntropyGradAttrs::classes), field("begin", &CrossEntropyGradAttrs::begin)};
  }
};

}  // namespace partita
