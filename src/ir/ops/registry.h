#pragma once
// The set of all ops, ordered by name.

#include "ir/graph/op_def.h"

namespace partita {

/// Returns the immutable registry, made on first use.
const OpSet& all_ops();

}  // namespace partita
