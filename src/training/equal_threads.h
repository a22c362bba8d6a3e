#pragma once
// Which programs need the same number of compute threads on all ranks.

#include "compiler/compile.h"

namespace partita {

/// Whether several ranks of a stage compute one and the same result by a kernel whose last bits depend on its number of
/// threads. Under another number on each rank what they all keep, as the weights of such a layer, would drift apart.
bool needs_equal_threads(const Program& program);

}  // namespace partita
