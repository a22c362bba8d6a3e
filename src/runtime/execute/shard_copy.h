#pragma once
// Copies boxes of dense row-major tensors: how a rank takes its part of a whole value and gives it back.

#include "ir/sharding/rule.h"

namespace partita {

/// The elements of `whole` in `ranges`, dense, into `part`.
void copy_part(ConstTensor whole, const Box& ranges, void* part);
/// The reverse: writes `part` into the `ranges` of `whole`.
void copy_back(const void* part, const Box& ranges, Tensor whole);

}  // namespace partita
