#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns the rows in a new order in every epoch. The order is a function of (seed, epoch) only.
DatasetPtr shuffle(DatasetPtr dataset, uint64_t seed);

}  // namespace partita
