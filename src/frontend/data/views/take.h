#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// The first `count` rows, or all when there are fewer.
DatasetPtr take(DatasetPtr dataset, int64_t count);

}  // namespace partita
