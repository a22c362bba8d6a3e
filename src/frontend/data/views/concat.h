#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// The rows of one dataset after those of another. Throws InvalidArgument for no datasets and for columns that differ.
DatasetPtr concat(std::vector<DatasetPtr> datasets);

}  // namespace partita
