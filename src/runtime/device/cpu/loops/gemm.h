#pragma once
// Products of f64 matrices, tile by tile: rows of one operand and columns of the other are packed into panels that stay
// in the caches, and six rows of eight columns at a time are summed in registers (Goto and van de Geijn, 2008, "Anatomy
// of high-performance matrix multiplication"). What the operands are is up to the functions that pack them, so
// convolutions are products, too. An element is one thread's work, in an order that depends on the inner size alone.

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace partita::gemm {

inline constexpr int64_t kRows = 6, kColumns = 8;            // of a tile of registers
inline constexpr int64_t kInner = 192;                       // of a packed panel
inline constexpr int64_t kMaxRows = 240, kMaxColumns = 192;  // of a tile: a few hundred KiB for operands and sums

/// Sums of a tile of registers.
using Sums = double[kRows][kColumns];

/// `batch` products of [rows, inner] and [inner, columns], cut into tiles that are tasks.
struct Sizes {
  int64_t batch = 1, rows = 0, columns = 0, inner = 0;
  int64_t tile_rows = kRows, tile_columns = kColumns;  // multiples of those of registers

  int64_t row_tiles() const { return (rows + tile_rows - 1) / tile_rows; }
  int64_t column_tiles() const { return (columns + tile_columns - 1) / tile_columns; }
  int64_t tasks() const { return batch * row_tiles() * column_tiles(); }
  /// Of scratch memory, for each thread: no less than smaller sizes need.
  int64_t scratch_bytes() const;
};

/// Tiles that fit the caches, and smaller ones where a thread would have none.
Sizes tiled(int64_t batch, int64_t rows, int64_t columns, int64_t inner, int threads);

/// sums[r][c] (+)= the sum over k of a[k][r] b[k][c], of `count` rows; they are overwritten unless `add`.
void multiply_panels(int64_t count, int64_t inner, const double* a, const double* b, bool add, Sums& sums);

/// One tile of one product, in the scratch of one thread (aligned to 64 bytes). `product` has the functions
///   pack_rows(first, count, begin, size, to): to[k * kRows + r] = a[first + r][begin + k], r below `count`
///   pack_columns(first, count, begin, size, to): to[c / kColumns * size * kColumns + k * kColumns + c % kColumns]
///                                                = b[begin + k][first + c], 0 from `count` to the end of its panel
///   store(row, rows, column, columns, sums)
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

/// All tiles of all products, in parallel; `product_at(i)` is the one of index i.
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

/// A matrix by its strides, as an operand of a product.
struct Matrix {
  const double* data;
  int64_t row_stride, column_stride;

  void pack_rows(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const;
  void pack_columns(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const;
};

/// y = scale a b, plus y when `add`; rows of y are `row_size` apart.
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

/// One product on the calling thread, which may be one of a team.
void multiply_alone(const Sizes& sizes, double* scratch, const MatrixProduct& product);

}  // namespace partita::gemm
