#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns the rows of all datasets, one after another. Throws InvalidArgument for no datasets and for columns that
/// differ.
DatasetPtr concat(std::vector<DatasetPtr> datasets);

}  // namespace partita
