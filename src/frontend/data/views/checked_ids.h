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

/// Returns a dataset with the same rows whose ids are checked: columns in memory at once, others each time they are
/// read. Returns `dataset` itself if nothing is left to check. Limits of columns that it lacks are ignored. Throws
/// InvalidFile, with the position, for an id in memory that comes from a file, InvalidArgument for any other; reading
/// throws InvalidArgument.
DatasetPtr checked_ids(DatasetPtr dataset, const std::vector<IdLimit>& limits);

}  // namespace partita
