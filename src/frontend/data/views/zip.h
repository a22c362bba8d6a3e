#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Row k has the columns of row k of each dataset; as many rows as the shortest has. The first one says which sample a
/// row is. Throws InvalidArgument for no datasets and for a column name that two of them have.
DatasetPtr zip(std::vector<DatasetPtr> datasets);

}  // namespace partita
