#pragma once
// Records: ids of a table, numbers, and whether something happened.

#include "frontend/data/dataset.h"

namespace partita {

struct RecordFormat {
  int64_t ids = 0;       // of a record
  int64_t rows = 0;      // of the table, so that ids are in [0, rows)
  int64_t features = 0;  // numbers of a record
};

/// Columns "ids" (i32[ids]), "features" (f32[features]; none without features) and "label" (i32[], 0 or 1).
std::vector<Column> record_columns(const RecordFormat& format);

/// A generated stand-in. Small ids are frequent. Each id and each feature has a hidden weight, the first feature also
/// one of the first id; the label says whether their sum is positive.
DatasetPtr make_synthetic_records(int64_t count, const RecordFormat& format, uint64_t seed, Split split);

}  // namespace partita
