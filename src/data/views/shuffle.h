#pragma once

#include "data/dataset.h"

namespace partita {

/// The rows in a fresh order for every epoch, a function of (seed, epoch) alone.
DatasetPtr shuffle(DatasetPtr dataset, uint64_t seed);
/// The rows as they are in the first epoch, in one order, in every epoch: what is cut out of it has the same rows
/// always, whatever shuffles or changes them before.
DatasetPtr shuffle_once(DatasetPtr dataset, uint64_t seed);

}  // namespace partita
