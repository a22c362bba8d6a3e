#pragma once
// Attributes of the ops of cross entropy, and what they share.

#include "ir/graph/op_def.h"

namespace partita {

/// The local logits are classes [begin, begin + z) of `classes`.
struct CrossEntropyGradAttrs {
  int64_t classes = 1, begin = 0;
  static constexpr auto fields() {
    return std::tuple{field("classes", &CrossEntropyGradAttrs::classes), field("begin", &CrossEntropyGradAttrs::begin)};
  }
};

/// Throws unless logits[.., z] and integer labels[..] fit, with at least one class.
void require_logits_and_labels(std::string_view op, const OpCall& call);

/// Throws InvalidArgument unless the label is in [0, classes).
void require_label(std::string_view op, int64_t label, int64_t row, int64_t classes);

}  // namespace partita
