#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// All rows but the first `count`; none when there are no more.
DatasetPtr skip(DatasetPtr dataset, int64_t count);

}  // namespace partita
