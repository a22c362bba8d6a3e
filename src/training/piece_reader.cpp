#include "training/piece_reader.h"

#include <cstring>

namespace partita {

void* Scratch::of(int64_t bytes) {
  if (bytes > size_) {
    memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
    size_ = bytes;
  }
  return memory_.get();
}

const void* PieceReader::read(int64_t first, int64_t last, Memory& memory) const {
  Box part = piece_, rows = state_.box();  // what is asked for, and all that the rank has of these rows
  const auto size = static_cast<int64_t>(size_of(state_.dtype()));
  int64_t row = 0;
  if (!part.empty()) {
    row = first - rows[0].begin;
    for (Box* box : {&part, &rows}) {
      (*box)[0].begin = first;
      (*box)[0].end = last;
    }
  }
  const int64_t wanted = elements_of(part), all = elements_of(rows);
  if (wanted == 0) return nullptr;
  const auto* dense = static_cast<const std::byte*>(state_.dense());
  if (dense != nullptr) {
    if (!part.empty()) dense += row * (all / (last - first)) * size;
  } else {
    auto* const made = static_cast<std::byte*>(memory.rows.of(all * size));
    state_.read(row, part.empty() ? 1 : row + last - first, made);
    dense = made;
  }
  const std::byte* result = nullptr;
  for_common_runs(part, rows, part, [&](int64_t from, int64_t to, int64_t count) {
    if (count == wanted) {
      result = dense + from * size;  // they lie one behind the other
      return;
    }
    auto* const packed = static_cast<std::byte*>(memory.piece.of(wanted * size));
    std::memcpy(packed + to * size, dense + from * size, static_cast<size_t>(count * size));
    result = packed;
  });
  return result;
}

const void* PieceReader::read(Memory& memory) const {
  return piece_.empty() ? read(0, 1, memory) : read(piece_[0].begin, piece_[0].end, memory);
}

}  // namespace partita
