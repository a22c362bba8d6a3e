#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// The named columns alone, in the order given. Throws InvalidArgument for no names and for an unknown or repeated
/// one.
DatasetPtr project(DatasetPtr dataset, const std::vector<std::string>& columns);

}  // namespace partita
