#pragma once
// Element-wise reduction of several buffers.

#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/reduce.h"

namespace partita {

/// Combines elements [begin, end) of all `sources` in order, and stores the result at the same place in each buffer of
/// `results`, which may be the sources themselves.
///
/// 16-bit floats are added in f32 and rounded once. Integers wrap. The sum of bools is "any". The maximum and minimum
/// of floats are NaN if any contribution is. Throws InternalError for Reduce::none.
void reduce_elements(std::span<const void* const> sources, std::span<void* const> results, int64_t begin, int64_t end,
                     DType dtype, Reduce reduce);

}  // namespace partita
