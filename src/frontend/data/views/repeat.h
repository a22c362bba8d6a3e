#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset that passes over `dataset` `times` times per epoch. Each pass is an epoch of its own to `dataset`,
/// so a shuffle inside differs in each. A later pass counts as other samples, so augmentation outside differs too.
/// Throws InvalidArgument unless `times` is 1 to 2^20 and `times` times the rows at most a quarter of 2^63.
DatasetPtr repeat(DatasetPtr dataset, int64_t times);

}  // namespace partita
