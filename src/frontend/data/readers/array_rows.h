#pragma once
// Labelled rows in the files of NumPy.

#include <optional>

#include "frontend/data/dataset.h"
#include "frontend/data/source.h"

namespace partita {

/// Whether the files name rows of this split; reads none.
bool has_array_rows(const DataSource& source, Split split);

/// Integer labels are to be in [0, classes), or the one that is ignored.
struct LabelRange {
  int64_t classes = 0;
  std::optional<int64_t> ignored = std::nullopt;
};

/// Columns of arrays, one row for each entry of their first dimension.
/// npy: `input` and "label", in the order of the paths.
/// npz: of one file with x_train and y_train (x_test, y_test) these, as `input` and "label"; otherwise every array
/// under its own name, where labels and y are "label" too, and a single other one is `input`; the second file holds the
/// rows of the test. u8 images [height,width] get a dimension of one channel. Arrays of the other split are not read.
/// Throws MissingFile, InvalidArgument for rows that are not there, and InvalidFile when there is no label, when the
/// arrays have different numbers of rows, for integers that are no i32, and for integer labels that `labels` forbids.
DatasetPtr read_array_rows(const DataSource& source, Split split, const std::string& input,
                           std::optional<LabelRange> labels = std::nullopt);

}  // namespace partita
