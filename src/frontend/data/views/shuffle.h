#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// The rows in a fresh order for every epoch, a function of (seed, epoch) alone.
DatasetPtr shuffle(DatasetPtr dataset, uint64_t seed);

}  // namespace partita
