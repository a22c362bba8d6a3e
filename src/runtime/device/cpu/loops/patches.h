#pragma once
// An image seen as a matrix, of which convolutions are products ("im2col"): a row for each channel and tap of the
// filter, a column for each place that the filter takes in each image.

#include <cstdint>
#include <vector>

namespace partita {

struct Patches {
  /// The element under a tap lies at (row * row_step + tap.row, column * column_step + tap.column) for the place (row,
  /// column); outside the image it is zero.
  struct Tap {
    int64_t row, column;
  };

  const double* data = nullptr;  // the first channel of the first image
  int64_t image_stride = 0, height = 0, width = 0;
  int64_t rows = 0, columns = 0;  // places in an image
  int64_t row_step = 1, column_step = 1;
  std::vector<Tap> taps{{0, 0}};

  int64_t places() const { return rows * columns; }
  /// Whether some tap lies outside the image at some place.
  bool reaches_outside() const;

  /// Elements [first, first + count) of the matrix's row `index`; columns of one image after another.
  void copy_row(int64_t index, int64_t first, int64_t count, double* to) const;

  // The packing of gemm.h: as columns of a product, with rows or with columns of this matrix as its inner dimension,
  // and as rows of a product with columns of this matrix as its inner dimension.
  void pack_columns(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const;
  void pack_columns_transposed(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const;
  void pack_rows(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const;
};

}  // namespace partita
