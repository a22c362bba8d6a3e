#pragma once
// Checks of attention that could be fused: that it is where a configuration asks for it, and whether there is any.

#include <string>

#include "compiler/compile.h"

namespace partita {

/// Returns a warning if attention of a training, or a gradient of it, is composed although fused was asked for, else
/// "". It names one and the reason.
std::string warning_of_composed(const Program& program);
/// Whether a program composes all its attention, and some of it, of 16 bits, could be fused on a GPU of NVIDIA.
bool composes_attention(const Program& program);

}  // namespace partita
