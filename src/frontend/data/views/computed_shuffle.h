#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset of the same rows, in a new order in every epoch, for any number of rows: each place is computed
/// when it is read (`Permutation`), while `shuffle` keeps 16 bytes per row. The order is a function of (seed, epoch,
/// number of rows) only, and another one than that of `shuffle`.
DatasetPtr computed_shuffle(DatasetPtr dataset, uint64_t seed);

}  // namespace partita
