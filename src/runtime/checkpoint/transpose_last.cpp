#include "runtime/checkpoint/transpose_last.h"

namespace partita {
namespace {

/// Copies dense rows [.., a, b] to [.., b, a], some rows and columns at a time.
template <class T>
void transpose_rows(const T* from, T* to, const Shape& shape) {
  const int64_t rows = shape[shape.size() - 2], columns = shape.back(), plane = rows * columns;
  constexpr int64_t kTile = 32;
  if (plane == 0) return;
  for (int64_t start = 0; start < elements(shape); start += plane) {
    for (int64_t r = 0; r < rows; r += kTile) {
      for (int64_t c = 0; c < columns; c += kTile) {
        for (int64_t i = r; i < std::min(rows, r + kTile); ++i) {
          for (int64_t j = c; j < std::min(columns, c + kTile); ++j) {
            to[start + j * rows + i] = from[start + i * columns + j];
          }
        }
      }
    }
  }
}

}  // namespace

void transpose_last(const void* from, void* to, const Shape& shape, size_t size) {
  if (size == 8) return transpose_rows(static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to), shape);
  if (size == 4) return transpose_rows(static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to), shape);
  if (size == 2) return transpose_rows(static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to), shape);
  transpose_rows(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to), shape);
}

}  // namespace partita
