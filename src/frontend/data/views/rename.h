#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns the dataset with its columns renamed: column c gets names[c]. Throws InvalidArgument unless there is one
/// name per column, and for repeated names.
DatasetPtr rename(DatasetPtr dataset, const std::vector<std::string>& names);

}  // namespace partita
