#pragma once
// Recomputation policies (compiler/autodiff/recompute.h).

#include "base/names.h"

namespace partita {

/// Which results are recomputed. selective: those of attention, from its operands. full: those of every block of layers
/// (nodes in a numbered scope such as net/h/3), except for values that other layers use.
enum class Recompute { none, selective, full };
constexpr auto value_names(Recompute) { return names("none", "selective", "full"); }

}  // namespace partita
