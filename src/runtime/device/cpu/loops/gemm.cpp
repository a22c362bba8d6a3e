#include "runtime/device/cpu/loops/gemm.h"

#include "runtime/device/cpu/loops/vectors.h"

namespace partita::gemm {
namespace {

constexpr int64_t kVectors = kColumns / kLanes;

constexpr int64_t kTasksPerThread = 3;
constexpr int64_t kSmallestShare = 4;  // part of the largest tile to which tiles shrink for more tasks

/// Computes sums[r][c] (+)= sum over k of a[k][r] b[k][c] for kCount rows; overwrites `sums` unless `add`. Keeps the
/// sums in registers: every loop except the one over the inner dimension is unrolled.
template <int64_t kCount>
void multiply_rows(int64_t inner, const double* a, const double* b, bool add, Sums& sums) {
  Vector total[kCount][kVectors];
  for (int64_t r = 0; r < kCount; ++r) {
    for (int64_t v = 0; v < kVectors; ++v) total[r][v] = Vector{};
  }
  for (int64_t k = 0; k < inner; ++k, a += kRows, b += kColumns) {
    Vector right[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) right[v] = load_vector(b + v * kLanes);
    for (int64_t r = 0; r < kCount; ++r) {
      for (int64_t v = 0; v < kVectors; ++v) total[r][v] += a[r] * right[v];
    }
  }
  for (int64_t r = 0; r < kCount; ++r) {
    for (int64_t v = 0; v < kVectors; ++v) {
      double* place = &sums[r][v * kLanes];
      store_vector(add ? load_vector(place) + total[r][v] : total[r][v], place);
    }
  }
}

int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Returns the size of equal tiles into which `size` is split: at most `most`, and a multiple of `unit`, at least one.
int64_t even_tile(int64_t size, int64_t most, int64_t unit) {
  const int64_t tiles = std::max<int64_t>(1, (size + most - 1) / most);
  return std::max(unit, rounded_up((size + tiles - 1) / tiles, unit));
}

}  // namespace

void multiply_panels(int64_t count, int64_t inner, const double* a, const double* b, bool add, Sums& sums) {
  switch (count) {
    case 1: return multiply_rows<1>(inner, a, b, add, sums);
    case 2: return multiply_rows<2>(inner, a, b, add, sums);
    case 3: return multiply_rows<3>(inner, a, b, add, sums);
    case 4: return multiply_rows<4>(inner, a, b, add, sums);
    case 5: return multiply_rows<5>(inner, a, b, add, sums);
    default: return multiply_rows<6>(inner, a, b, add, sums);
  }
}

int64_t Sizes::scratch_bytes() const {
  const int64_t max_rows = std::min(kMaxRows, rounded_up(rows, kRows));
  const int64_t max_columns = std::min(kMaxColumns, rounded_up(columns, kColumns));
  const int64_t numbers = max_rows * max_columns + std::min(inner, kInner) * (max_columns + kRows);
  return rounded_up(numbers, kColumns) * static_cast<int64_t>(sizeof(double));
}

Sizes tiled(int64_t batch, int64_t rows, int64_t columns, int64_t inner, int threads) {
  Sizes sizes{.batch = batch, .rows = rows, .columns = columns, .inner = inner};
  for (int64_t share = 1; share <= kSmallestShare; share *= 2) {
    sizes.tile_rows = even_tile(rows, kMaxRows / share, kRows);
    sizes.tile_columns = even_tile(columns, kMaxColumns / share, kColumns);
    if (threads == 1 || sizes.tasks() >= kTasksPerThread * threads) break;
  }
  return sizes;
}

void Matrix::pack_rows(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
  const double* from = data + first * row_stride + begin * column_stride;
  for (int64_t k = 0; k < size; ++k, from += column_stride) {
    for (int64_t r = 0; r < count; ++r) to[k * kRows + r] = from[r * row_stride];
  }
}

void Matrix::pack_columns(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
  for (int64_t panel = 0; panel < count; panel += kColumns, to += size * kColumns) {
    const double* from = data + begin * row_stride + (first + panel) * column_stride;
    const int64_t columns = std::min(kColumns, count - panel);
    if (columns < kColumns) std::fill_n(to, size * kColumns, 0.0);
    for (int64_t k = 0; k < size; ++k, from += row_stride) {
      for (int64_t c = 0; c < columns; ++c) to[k * kColumns + c] = from[c * column_stride];
    }
  }
}

void MatrixProduct::store(int64_t row, int64_t rows, int64_t column, int64_t columns, const Sums& sums) const {
  for (int64_t r = 0; r < rows; ++r) {
    double* to = y + (row + r) * row_size + column;
    if (add) {
      for (int64_t c = 0; c < columns; ++c) to[c] += scale * sums[r][c];
    } else {
      for (int64_t c = 0; c < columns; ++c) to[c] = scale * sums[r][c];
    }
  }
}

void multiply_alone(const Sizes& sizes, double* scratch, const MatrixProduct& product) {
  for (int64_t row = 0; row < sizes.rows; row += sizes.tile_rows) {
    for (int64_t column = 0; column < sizes.columns; column += sizes.tile_columns) {
      multiply_tile(sizes, row, column, scratch, product);
    }
  }
}

}  // namespace partita::gemm
