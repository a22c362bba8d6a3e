#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns rows with the columns of all datasets: row k joins their rows k. It has as many rows as the shortest;
/// samples are those of the first dataset. Throws InvalidArgument for no datasets and for a column name that two of
/// them have.
DatasetPtr zip(std::vector<DatasetPtr> datasets);

}  // namespace partita
