#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset with the columns of all datasets, in order: row k joins their rows k. It has as many rows as the
/// shortest; samples are those of the first dataset. Throws InvalidArgument for no datasets and for a column name that
/// occurs twice.
DatasetPtr zip(std::vector<DatasetPtr> datasets);

}  // namespace partita
