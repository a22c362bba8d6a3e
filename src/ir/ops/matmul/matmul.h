#pragma once
// Attributes of matmul.

#include "base/fields.h"

namespace partita {

/// Each flag transposes the last two dimensions of its operand before the product.
struct MatmulAttrs {
  bool transpose_a = false, transpose_b = false;
  static constexpr auto fields() {
    return std::tuple{field("transpose_a", &MatmulAttrs::transpose_a), field("transpose_b", &MatmulAttrs::transpose_b)};
  }
};

}  // namespace partita
