#pragma once
// Rows that are held in memory as arrays.

#include <map>
#include <utility>

#include "frontend/data/dataset.h"

namespace partita {

/// A column for each named array; its first dimension counts the rows. Throws InvalidArgument for no arrays, scalars,
/// repeated names and arrays with different numbers of rows. `file`: where they come from, for messages;
/// `shapes`: of the rows of columns, in place of those of the arrays, with as many elements.
DatasetPtr memory_rows(std::vector<std::pair<std::string, Array>> columns, const std::string& file = "",
                       const std::map<std::string, Shape>& shapes = {});

}  // namespace partita
