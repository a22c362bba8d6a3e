#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset whose every epoch has the rows of the first, in the same order. So a part cut out of it always has
/// the same rows, even if views before it shuffle or change them.
DatasetPtr first_epoch(DatasetPtr dataset);

}  // namespace partita
