#pragma once
// Dropout and random numbers as StableHLO.

#include "ir/graph/op_def.h"

namespace partita {

std::vector<Hlo> emit_dropout(const EmitCall& call);
std::vector<Hlo> emit_random(const EmitCall& call);

}  // namespace partita
