#pragma once
// Attributes and helpers of the cross-entropy ops.

#include "ir/graph/op_def.h"

namespace partita {

/// The local logits are the classes [begin, begin + z) of `classes`.
struct CrossEntropyGradAttrs {
  int64_t classes = 1, begin = 0;
  static constexpr auto fields() {
    return std::tuple{field("classes", &CrossEntropyGradAttrs::classes), field("begin", &CrossEntropyGradAttrs::begin)};
  }
};

/// Checks that the label is in [0, classes). `row` is for the message. Throws InvalidArgument otherwise.
void require_label(std::string_view op, int64_t label, int64_t row, int64_t classes);

}  // namespace partita
