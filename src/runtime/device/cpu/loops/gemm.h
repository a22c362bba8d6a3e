#pragma once
// Products of f64 matrices, tile by tile. Rows of one operand and columns of the other are packed into panels that stay
// in the caches; tiles of six rows and eight columns are summed in registers (Goto and van de Geijn, 2008, "Anatomy of
// high-performance matrix multiplication"). Functions that pack define the operands, so convolutions are products too.
// One thread computes an element, in an order that depends only on the inner size.

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace partita::gemm {

inline constexpr int64_t kRows = 6, kColumns = 8;            // register tile
inline constexpr int64_t kInner = 192;                       // inner size of a packed panel
inline constexpr int64_t kMaxRows = 240, kMaxColumns = 192;  // cache tile: a few hundred KiB for operands and sums

/// Sums of a register tile.
using Sums = double[kRows][kColumns];

/// `batch` products of [rows, inner] and [inner, columns], split into tiles, each of which is a task.
struct Sizes {
  int64_t batch = 1, rows = 0, columns = 0, inner = 0;
  int64_t tile_rows = kRows, tile_columns = kColumns;  // multiples of the register tile

  int64_t row_tiles() const { return (rows + tile_rows - 1) / tile_rows; }
  int64_t column_tiles() const { return (columns + tile_columns - 1) / tile_columns; }
  int64_t tasks() const { return batch * row_tiles() * column_tiles(); }
  /// Bytes of scratch memory per thread. Never less than smaller sizes need.
  int64_t scratch_bytes() const;
};

/// Returns the given sizes with tiles that fit the caches. With several threads, halves the tiles up to twice while
/// there are fewer than three tasks per thread.
Sizes tiled(int64_t batch, int64_t rows, int64_t columns, int64_t inner, int threads);

/// sums[r][c] (+)= sum over k of a[k][r] b[k][c], for `count` rows. Overwrites `sums` unless `add`.
void multiply_panels(int64_t count, int64_t inner, const double* a, const double* b, bool add, Sums& sums);

/// Computes one tile of one product, whose first element is [row, column], in one thread's scratch memory (aligned to
/// 64 bytes). `product` has the functions
///   pack_rows(first, count, begin, size, to): to[k * kRows + r] = a[first + r][begin + k], r below `count`
///   pack_columns(first, count, begin, size, to): to[c / kColumns * size * kColumns + k * kColumns + c % kColumns]
///                                                = b[begin + k][first + c], 0 from `count` to the end of its panel
///   store(row, rows, column, columns, sums): takes elements [row, row + rows) x [column, column + columns)
template <class Product>
void multiply_tile(const Sizes& sizes, int64_t row, int64_t column, double* scratch, const Product& product) {
  const int64_t rows = std::min(sizes.tile_rows, sizes.rows - row);
  const int64_t columns = std::min(sizes.tile_columns, sizes.columns - column);
  const int64_t panels = (columns + kColumns - 1) / kColumns;
  auto* sums = reinterpret_cast<Sums*>(scratch);
  double* packed_columns = scratch + sizes.tile_rows * sizes.tile_columns;
  double* packed_rows = packed_columns + std::min(sizes.inner, kInner) * sizes.tile_columns;
  if (sizes.inner == 0) std::fill_n(scratch, sizes.tile_rows * sizes.tile_columns, 0.0);
  for (int64_t begin = 0; begin < sizes.inner; begin += kInner) {
    const int64_t size = std::min(kInner, sizes.inner - begin);
    product.pack_columns(column, columns, begin, size, packed_columns);
    for (int64_t r = 0; r < rows; r += kRows) {
      const int64_t count = std::min(kRows, rows - r);
      product.pack_rows(row + r, count, begin, size, packed_rows);
      for (int64_t panel = 0; panel < panels; ++panel) {
        multiply_panels(count, size, packed_rows, packed_columns + panel * size * kColumns, begin > 0,
                        sums[r / kRows * panels + panel]);
      }
    }
  }
  for (int64_t r = 0; r < rows; r += kRows) {
    for (int64_t panel = 0; panel < panels; ++panel) {
      product.store(row + r, std::min(kRows, rows - r), column + panel * kColumns,
                    std::min(kColumns, columns - panel * kColumns), sums[r / kRows * panels + panel]);
    }
  }
}

/// Computes all tiles of all products in parallel. `product_at(i)` returns product i. `scratch` has scratch_bytes()
/// bytes for each of `threads` threads.
template <class ProductAt>
void multiply(const Sizes& sizes, int threads, void* scratch, const ProductAt& product_at) {
  const int64_t tasks = sizes.tasks(), column_tiles = sizes.column_tiles();
  const int64_t per_product = sizes.row_tiles() * column_tiles;
  const int64_t room = sizes.scratch_bytes() / static_cast<int64_t>(sizeof(double));
#pragma omp parallel for num_threads(threads) if (threads > 1 && tasks > 1) schedule(static)
  for (int64_t t = 0; t < tasks; ++t) {
    const int64_t tile = t % per_product;
    double* own = static_cast<double*>(scratch) + omp_get_thread_num() * room;
    multiply_tile(sizes, tile / column_tiles * sizes.tile_rows, tile % column_tiles * sizes.tile_columns, own,
                  product_at(t / per_product));
  }
}

/// A matrix given by strides, as an operand of a product.
struct Matrix {
  const double* data;
  int64_t row_stride, column_stride;

  void pack_rows(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const;
  void pack_columns(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const;
};

/// y = scale a b, plus y if `add`. Rows of y are `row_size` elements apart.
struct MatrixProduct {
  Matrix a, b;
  double* y;
  int64_t row_size;
  double scale = 1;
  bool add = false;

  void pack_rows(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
    a.pack_rows(first, count, begin, size, to);
  }
  void pack_columns(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
    b.pack_columns(first, count, begin, size, to);
  }
  void store(int64_t row, int64_t rows, int64_t column, int64_t columns, const Sums& sums) const;
};

/// Computes one product on the calling thread, which may belong to a team.
void multiply_alone(const Sizes& sizes, double* scratch, const MatrixProduct& product);

}  // namespace partita::gemm
