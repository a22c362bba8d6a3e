#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset of the same rows, in a new order in every epoch. The order is a function of (seed, epoch, number
/// of rows) only.
DatasetPtr shuffle(DatasetPtr dataset, uint64_t seed);

}  // namespace partita
