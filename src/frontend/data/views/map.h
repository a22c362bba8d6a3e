#pragma once

#include "frontend/data/dataset.h"
#include "frontend/data/transforms/value_map.h"

namespace partita {

/// Returns the dataset with each value of the named columns replaced by what `fn` makes of it when rows are read; other
/// columns are unchanged. Throws InvalidArgument for an unknown or repeated column and for types that `fn` does not
/// take. Reading throws what `fn` throws for a value.
DatasetPtr map(DatasetPtr dataset, const std::vector<std::string>& columns, ValueMapPtr fn);

}  // namespace partita
