#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns the dataset with its columns renamed, in order. Throws InvalidArgument for a wrong number of names and for
/// repeated ones.
DatasetPtr rename(DatasetPtr dataset, const std::vector<std::string>& names);

}  // namespace partita
