#pragma once
// What cross_entropy and its gradient share.

#include "graph/op_def.h"

namespace partita {

/// Throws unless logits[.., z] and integer labels[..] fit, with at least one class.
void require_logits_and_labels(std::string_view op, const OpCall& call);

/// Throws InvalidArgument unless the label is in [0, classes).
void require_label(std::string_view op, int64_t label, int64_t row, int64_t classes);

}  // namespace partita
