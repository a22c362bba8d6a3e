#pragma once
// Checks ids that are looked up in tables.

#include "frontend/data/dataset.h"

namespace partita {

/// A column of ids of a table, which must be in [0, rows).
struct IdLimit {
  std::string column;
  int64_t rows = 0;
  std::string table;
  bool operator==(const IdLimit&) const = default;
};

/// Returns the dataset with its ids checked. Rows in memory are checked at once, others when they are read, so `read`
/// may throw too. Limits of columns that the dataset lacks are ignored. Throws InvalidFile for ids of a file, else
/// InvalidArgument, with the position of the id.
DatasetPtr checked_ids(DatasetPtr dataset, const std::vector<IdLimit>& limits);

}  // namespace partita
