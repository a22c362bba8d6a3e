#pragma once
// Where programs of accelerators communicate.

#include "base/names.h"

namespace partita {

/// cut: programs end at collectives, which the host performs. whole: collectives are parts of programs, which the ranks
/// of a stage start together.
enum class CollectiveMode { cut, whole };
constexpr auto value_names(CollectiveMode) { return names("cut", "whole"); }

}  // namespace partita
