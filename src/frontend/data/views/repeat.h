#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// `times` passes over the dataset in each epoch; every pass is an epoch of its own to the dataset,
/// so a shuffle inside is fresh each time. A later pass counts as other samples, so that augmentation
/// outside differs too.
DatasetPtr repeat(DatasetPtr dataset, int64_t times);

}  // namespace partita
