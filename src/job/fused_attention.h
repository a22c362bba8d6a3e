#pragma once
// A check that attention is fused where a configuration asks for it.

#include <string>

#include "compiler/compile.h"

namespace partita {

/// Returns a warning if attention of a training, or a gradient of it, is composed although fused was asked for, else
/// "". It names one and the reason.
std::string warning_of_composed(const Program& program);

}  // namespace partita
