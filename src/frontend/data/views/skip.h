#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns all rows but the first `count`. Throws InvalidArgument if `count` is negative.
DatasetPtr skip(DatasetPtr dataset, int64_t count);

}  // namespace partita
