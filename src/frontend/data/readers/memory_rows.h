#pragma once
// Rows held in memory as arrays.

#include <map>
#include <utility>

#include "frontend/data/dataset.h"

namespace partita {

/// Returns a dataset with one column per named array, in order; the first dimension of each counts the rows. `file` is
/// their origin, for messages; "" = not from a file. `shapes` replaces the row shapes of the columns that it names.
/// Throws InvalidArgument for no arrays, scalars, repeated names and arrays with different numbers of rows,
/// InternalError if a shape changes the number of elements.
DatasetPtr memory_rows(std::vector<std::pair<std::string, Array>> columns, const std::string& file = "",
                       const std::map<std::string, Shape>& shapes = {});

}  // namespace partita
