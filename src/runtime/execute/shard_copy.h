#pragma once
// Copies boxes of dense row-major tensors: how a rank takes its part of a whole value and writes it back.

#include "ir/sharding/rule.h"

namespace partita {

/// Copies the elements of `whole` inside `ranges` to `part`, dense.
void copy_part(ConstTensor whole, const Box& ranges, void* part);
/// Copies the dense `part` to the elements of `whole` inside `ranges`.
void copy_back(const void* part, const Box& ranges, Tensor whole);

}  // namespace partita
