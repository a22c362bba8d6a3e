#pragma once
// Copies boxes of dense row-major tensors: how a rank takes its part of a whole value and writes it back.

#include "ir/sharding/rule.h"

namespace partita {

/// Copies the elements of `whole` inside `ranges` to `part`, dense and in row-major order.
void copy_part(ConstTensor whole, const Box& ranges, void* part);
/// Copies elements as `copy_part` does, f32 to bf16.
void round_part(ConstTensor whole, const Box& ranges, void* part);
/// Copies `part`, dense and in row-major order, to the elements of `whole` inside `ranges`. Others stay as they are.
void copy_back(const void* part, const Box& ranges, Tensor whole);

}  // namespace partita
