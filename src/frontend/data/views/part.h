#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset of the first `count` rows, or of all if there are fewer, in the same order. Throws InvalidArgument
/// if `count` is negative.
DatasetPtr take(DatasetPtr dataset, int64_t count);

/// Returns a dataset of all rows but the first `count`, in the same order; empty if there are no more. Throws
/// InvalidArgument if `count` is negative.
DatasetPtr skip(DatasetPtr dataset, int64_t count);

}  // namespace partita
