#pragma once
// Records: ids of a table, numbers, and whether something happened.

#include "frontend/data/dataset.h"

namespace partita {

struct RecordFormat {
  int64_t ids = 0;       // ids per record
  int64_t rows = 0;      // rows of the table: ids are in [0, rows)
  int64_t features = 0;  // numbers per record
};

/// Returns the columns "ids" (i32[ids]), "features" (f32[features], absent without features) and "label" (i32[], 0 or
/// 1).
std::vector<Column> record_columns(const RecordFormat& format);

/// Returns `count` generated records, in the columns of `record_columns`. Small ids are frequent. Each id and each
/// feature has a hidden weight, and the first id adds a second weight to the first feature. The label says whether the
/// weighted sum of a record is positive. A record depends on (seed, split, index) only; the splits share the weights,
/// not the rows. Throws InvalidArgument if `count` is negative.
DatasetPtr make_synthetic_records(int64_t count, const RecordFormat& format, uint64_t seed, Split split);

}  // namespace partita
