#pragma once
// Rows that are held in memory as arrays.

#include <utility>

#include "data/dataset.h"

namespace partita {

/// A column for each named array; its first dimension counts the rows. Throws InvalidArgument for no arrays, scalars,
/// repeated names and arrays with different numbers of rows.
DatasetPtr memory_rows(std::vector<std::pair<std::string, Array>> columns);

}  // namespace partita
