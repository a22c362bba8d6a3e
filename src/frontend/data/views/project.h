#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns the dataset with only the columns that `columns` names, in the order of these names. Throws InvalidArgument
/// for no names and for an unknown or repeated one.
DatasetPtr project(DatasetPtr dataset, const std::vector<std::string>& columns);

}  // namespace partita
