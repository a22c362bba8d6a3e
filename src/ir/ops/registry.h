#pragma once
// All ops: the listing of this folder and of the families in it, ordered by name.

#include "ir/graph/op_def.h"

namespace partita {

/// The immutable registry, made on first use.
const OpSet& all_ops();

}  // namespace partita
