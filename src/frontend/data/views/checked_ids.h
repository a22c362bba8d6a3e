#pragma once
// Ids that are looked up in tables.

#include "frontend/data/dataset.h"

namespace partita {

/// A column whose numbers are ids of a table: they are to be in [0, rows).
struct IdLimit {
  std::string column;
  int64_t rows = 0;
  std::string table;
  bool operator==(const IdLimit&) const = default;
};

/// The rows, whose ids keep to the limits. Rows in memory are checked at once; others when they are read, so that
/// `read` throws as well. Throws InvalidFile for ids of a file, else InvalidArgument, with the place of the id.
DatasetPtr checked_ids(DatasetPtr dataset, const std::vector<IdLimit>& limits);

}  // namespace partita
