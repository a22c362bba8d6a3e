#pragma once
// The need for equal numbers of compute threads on all ranks.

#include "compiler/compile.h"

namespace partita {

/// Whether several ranks of a stage compute the same result by a kernel whose last bits depend on its number of
/// threads. With different thread counts, the replicated values, such as weights, would drift apart.
bool needs_equal_threads(const Program& program);

}  // namespace partita
