#pragma once
// Element-wise reduction of the same elements of several buffers.

#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/reduce.h"

namespace partita {

/// Combines elements [begin, end) of all `sources`, in their order, and stores the result at the
/// same place in the buffers of `results`, which may be the sources themselves.
///
/// 16-bit floats are added in f32 and rounded once. Integers wrap; the sum of bools is "any". The
/// maximum and minimum of floats are NaN where any contribution is.
void reduce_elements(std::span<const void* const> sources, std::span<void* const> results, int64_t begin, int64_t end,
                     DType dtype, Reduce reduce);

}  // namespace partita
