#pragma once
// Labelled rows in files of comma-separated values.

#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"

namespace partita {

/// The rows that a network reads.
struct CsvFormat {
  Shape image{};                // shape of its images, with kAnySize for any size; empty: it reads no images
  bool has_float_input = true;  // whether its input is of floats
  bool has_classes = false;     // whether labels are classes
};

/// Returns the columns of a file as arrays with one row per line, of f64, or of i32 where all numbers are whole. The
/// column "label", "labels" or "y" becomes "label", of i32 with `has_classes` even where a number is written as 1.0.
/// Columns NAME.0, NAME.1, .. become one, NAME, with a number of each; they may be labels, too. All others, in file
/// order, or if there are none the only column NAME, form `input`, which comes first; it is of f64 with
/// `has_float_input`. If the network declares images, whole numbers from 0 to 255 of a square number of columns are
/// grey images u8[side,side], and others get the declared shape if it has their number. Throws as `read_csv`, and
/// InvalidFile without a label, with two, for classes with a fraction, for whole numbers that do not fit an i32 (except
/// in an input of floats), for a column NAME next to NAME.0, for two of one number, and if the numbers of NAME.0, ..
/// leave one out.
std::vector<std::pair<std::string, Array>> read_csv_rows(const std::string& path, const std::string& input,
                                                         const CsvFormat& format = {});

}  // namespace partita
