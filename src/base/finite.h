#pragma once
// Whether numbers are finite, by their bits, where they are read anyway.

#include "base/dtype.h"

namespace partita {

/// Whether none of `count` elements is NaN or infinite.
bool are_finite(DType dtype, const void* elements, int64_t count);

/// The same, and copies them, past the caches (base/past_cache.h). `to` is aligned to an element.
bool copy_finite(DType dtype, void* to, const void* from, int64_t count);

}  // namespace partita
