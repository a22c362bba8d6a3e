#pragma once
// Images seen as a matrix that convolutions multiply ("im2col"): one row per channel and tap of the filter, one column
// per position of the filter in each image.

#include <cstdint>
#include <vector>

namespace partita {

struct Patches {
  /// The element under a tap for position (row, column) is at (row * row_step + tap.row, column * column_step +
  /// tap.column). It is zero outside the image.
  struct Tap {
    int64_t row, column;
  };

  const double* data = nullptr;  // first channel of the first image
  int64_t image_stride = 0, height = 0, width = 0;
  int64_t rows = 0, columns = 0;  // positions of the filter in an image
  int64_t row_step = 1, column_step = 1;
  std::vector<Tap> taps{{0, 0}};

  int64_t places() const { return rows * columns; }
  /// Whether a tap is outside the image at some position.
  bool reaches_outside() const;

  /// Copies elements [first, first + count) of row `index` of the matrix, whose columns are the positions of the first
  /// image, then those of the next one. Elements outside the image are 0.
  void copy_row(int64_t index, int64_t first, int64_t count, double* to) const;

  // Pack for gemm.h: columns of a product whose inner dimension is the rows (pack_columns) or the columns
  // (pack_columns_transposed) of this matrix; rows of a product whose inner dimension is its columns (pack_rows).
  void pack_columns(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const;
  void pack_columns_transposed(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const;
  void pack_rows(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const;
};

}  // namespace partita
