#pragma once
// Labelled rows in files of comma-separated values.

#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"

namespace partita {

/// Returns the columns of a file as arrays with one row per line, of f64, or of i32 where all numbers are whole. The
/// column "label", "labels" or "y" becomes "label", with `has_classes` of i32 even where a number is written as 1.0.
/// Columns NAME.0, NAME.1, .. become one, NAME, with a number of each; all others, in file order, form `input`, which
/// comes first, of f64. If the network declares images (`image`, empty if not, with kAnySize for any size), whole
/// numbers from 0 to 255 of a square number of columns are grey images u8[side,side], and others get the declared shape
/// if it has their number. Throws as `read_csv`, and InvalidFile without a label, with two, for classes with a
/// fraction, for whole numbers that do not fit an i32 (except in `input`), for a column NAME next to NAME.0, and if the
/// numbers of NAME.0, .. leave one out.
std::vector<std::pair<std::string, Array>> read_csv_rows(const std::string& path, const std::string& input,
                                                         const Shape& image, bool has_classes = false);

}  // namespace partita
