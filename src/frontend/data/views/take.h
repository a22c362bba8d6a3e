#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns the first `count` rows, or all if there are fewer. Throws InvalidArgument if `count` is negative.
DatasetPtr take(DatasetPtr dataset, int64_t count);

}  // namespace partita
