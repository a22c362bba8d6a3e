#pragma once
// Labelled rows in NumPy files and in files of comma-separated values.

#include <optional>

#include "frontend/data/dataset.h"
#include "frontend/data/readers/csv_rows.h"
#include "frontend/data/source.h"

namespace partita {

/// Whether the source names rows of this split; always for training. For testing: npz or csv with two files, npy with
/// four, or a single .npz, which is opened, that has x_train, y_train, x_test and y_test. Throws MissingFile if that
/// file cannot be opened, InvalidFile if it is no regular zip file.
bool has_array_rows(const DataSource& source, Split split);

/// Integer labels must be in [0, classes) or equal `ignored`.
struct LabelRange {
  int64_t classes = 0;
  std::optional<int64_t> ignored = std::nullopt;
};

/// Reads a dataset with one column per array and one row per entry of their first dimension.
/// npy: `input` and "label", in the order of the paths.
/// npz: if one file has x_train and y_train (x_test, y_test), these as `input` and "label". Otherwise every array under
/// its own name, where "labels" and "y" also become "label", and a single other array `input`; a second file holds the
/// test rows.
/// u8 images [height,width] get a dimension of one channel. Arrays of the other split are not read.
/// csv: the columns of `read_csv_rows` by `csv`. Throws as
/// `read_npy` and `read_csv_rows` do, InvalidArgument if the source has no rows of the split, and InvalidFile if there
/// is no label or more than one, an array is a scalar, the arrays differ in their number of rows, integers do not fit
/// an i32, or `labels` forbids an integer label.
DatasetPtr read_array_rows(const DataSource& source, Split split, const std::string& input,
                           std::optional<LabelRange> labels = std::nullopt, const CsvFormat& csv = {});

}  // namespace partita
