#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// The same columns under these names, in their order. Throws InvalidArgument for another number of names and for
/// repeated ones.
DatasetPtr rename(DatasetPtr dataset, const std::vector<std::string>& names);

}  // namespace partita
