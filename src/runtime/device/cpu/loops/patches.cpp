#include "runtime/device/cpu/loops/patches.h"

#include <algorithm>

#include "runtime/device/cpu/loops/gemm.h"

namespace partita {
namespace {

using gemm::kColumns, gemm::kInner, gemm::kMaxColumns, gemm::kRows;

/// The positions [first, last) at which an offset is inside `size` elements.
struct Inside {
  int64_t first, last;
};
Inside inside(int64_t offset, int64_t step, int64_t size) {
  const int64_t first = offset >= 0 ? 0 : (-offset + step - 1) / step;
  return {first, size > offset ? (size - 1 - offset) / step + 1 : 0};
}

/// Stores lines[i][k] to to[k * kWidth + i] for all k below `size`.
template <int64_t kWidth>
void interleave(const double (&lines)[kWidth][kInner], int64_t size, double* to) {
  for (int64_t k = 0; k < size; ++k) {
    for (int64_t i = 0; i < kWidth; ++i) to[k * kWidth + i] = lines[i][k];
  }
}

}  // namespace

bool Patches::reaches_outside() const {
  return std::ranges::any_of(taps, [&](const Tap& tap) {
    const Inside vertical = inside(tap.row, row_step, height), horizontal = inside(tap.column, column_step, width);
    return vertical.first > 0 || vertical.last < rows || horizontal.first > 0 || horizontal.last < columns;
  });
}

void Patches::copy_row(int64_t index, int64_t first, int64_t count, double* to) const {
  const auto tap_count = static_cast<int64_t>(taps.size());
  const Tap& tap = taps[index % tap_count];
  const Inside within = inside(tap.column, column_step, width);
  const double* plane = data + first / places() * image_stride + index / tap_count * height * width;
  int64_t row = first / columns % rows, column = first % columns;
  for (double* const end = to + count; to < end;) {
    const int64_t size = std::min<int64_t>(columns - column, end - to);
    const int64_t y = row * row_step + tap.row;
    int64_t begin = size, stop = size;  // bounds of the part inside the image
    if (y >= 0 && y < height) {
      begin = std::clamp<int64_t>(within.first - column, 0, size);
      stop = std::clamp<int64_t>(within.last - column, begin, size);
    }
    std::fill_n(to, begin, 0.0);
    const double* from = plane + y * width + column * column_step + tap.column;
    if (column_step == 1) {
      std::copy(from + begin, from + stop, to + begin);
    } else {
      for (int64_t i = begin; i < stop; ++i) to[i] = from[i * column_step];
    }
    std::fill(to + stop, to + size, 0.0);
    to += size;
    column = 0;
    if (++row == rows) {
      row = 0;
      plane += image_stride;
    }
  }
}

void Patches::pack_columns(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
  const int64_t panels = (count + kColumns - 1) / kColumns;
  double line[kMaxColumns] = {};
  for (int64_t k = 0; k < size; ++k) {
    copy_row(begin + k, first, count, line);
    for (int64_t panel = 0; panel < panels; ++panel) {
      std::copy_n(line + panel * kColumns, kColumns, to + (panel * size + k) * kColumns);
    }
  }
}

void Patches::pack_columns_transposed(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
  double lines[kColumns][kInner];
  for (int64_t panel = 0; panel < count; panel += kColumns, to += size * kColumns) {
    for (int64_t c = 0; c < kColumns; ++c) {
      if (panel + c < count) {
        copy_row(first + panel + c, begin, size, lines[c]);
      } else {
        std::fill_n(lines[c], size, 0.0);
      }
    }
    interleave(lines, size, to);
  }
}

void Patches::pack_rows(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
  double lines[kRows][kInner];
  for (int64_t r = 0; r < kRows; ++r) {
    if (r < count) {
      copy_row(first + r, begin, size, lines[r]);
    } else {
      std::fill_n(lines[r], size, 0.0);
    }
  }
  interleave(lines, size, to);
}

}  // namespace partita
