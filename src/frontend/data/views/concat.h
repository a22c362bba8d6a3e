#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset of the rows of all datasets, one dataset after another in the given order. Throws InvalidArgument
/// for no datasets and for columns that differ in name, type or order.
DatasetPtr concat(std::vector<DatasetPtr> datasets);

}  // namespace partita
