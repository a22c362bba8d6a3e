#pragma once
// All ops: the listing of this folder.

#include "graph/op_def.h"

namespace partita {

/// The immutable registry, made on first use.
const OpSet& all_ops();

}  // namespace partita
