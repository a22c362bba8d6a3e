#pragma once
// Checks that numbers are finite by their bits, in loops that read the numbers anyway.

#include "base/dtype.h"

namespace partita {

/// Whether none of `count` elements is NaN or infinite. Always true for integers.
bool are_finite(DType dtype, const void* elements, int64_t count);

/// Copies `count` elements, floats past the caches (base/past_cache.h), and returns whether none is NaN or infinite:
/// always true for integers. `to` is aligned to an element.
bool copy_finite(DType dtype, void* to, const void* from, int64_t count);

}  // namespace partita
