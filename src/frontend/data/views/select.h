#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset of the rows with these numbers, in this order; a row may be there several times. Throws
/// InvalidArgument for a number that is no row.
DatasetPtr select(DatasetPtr dataset, std::vector<int64_t> rows);

}  // namespace partita
