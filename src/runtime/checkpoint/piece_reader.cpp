#include "runtime/checkpoint/piece_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/finite.h"

namespace partita {
namespace {

constexpr int64_t kRowsAtATime = 64;  // by one thread; whole blocks in most memory formats

}  // namespace

void* Scratch::of(int64_t bytes) {
  if (bytes > size_) {
    memory_.reset(new (kLine) std::byte[static_cast<size_t>(bytes)]);
    size_ = bytes;
  }
  return memory_.get();
}

PieceReader::PieceReader(StateReader state, Box piece) : state_(std::move(state)), piece_(std::move(piece)) {
  const std::optional<Box> common = common_box(piece_, state_.box());
  PARTITA_CHECK(elements_of(piece_) == 0 || (common && shape_of(*common) == shape_of(piece_)),
                "a piece outside of what the rank has");
}

PieceReader::Part PieceReader::part_of(int64_t first, int64_t last) const {
  Part part{.box = piece_, .held = state_.box(), .held_first = 0, .held_last = 1};
  if (!piece_.empty()) {
    part.held_first = first - part.held[0].begin;
    part.held_last = part.held_first + last - first;
    for (Box* box : {&part.box, &part.held}) {
      (*box)[0].begin = first;
      (*box)[0].end = last;
    }
  }
  part.wanted = elements_of(part.box);
  part.all = elements_of(part.held);
  return part;
}

const void* PieceReader::pack(const Part& part, const std::byte* held, Memory& memory) const {
  const std::byte* result = nullptr;
  for_common_runs(part.box, part.held, part.box, [&](int64_t from, int64_t to, int64_t count) {
    if (count == part.wanted) {
      result = held + bytes_of(from);  // the elements are contiguous
      return;
    }
    auto* const packed = static_cast<std::byte*>(memory.piece.of(bytes_of(part.wanted)));
    std::memcpy(packed + bytes_of(to), held + bytes_of(from), static_cast<size_t>(bytes_of(count)));
    result = packed;
  });
  return result;
}

const void* PieceReader::read(int64_t first, int64_t last, Memory& memory) const {
  const Part part = part_of(first, last);
  if (part.wanted == 0) return nullptr;
  const int64_t row = bytes_of(part.all) / (part.held_last - part.held_first);
  if (const void* dense = state_.dense(); dense != nullptr) {
    return pack(part, static_cast<const std::byte*>(dense) + part.held_first * row, memory);
  }
  auto* const dense = static_cast<std::byte*>(memory.rows.of(bytes_of(part.all)));
  const int64_t first_block = part.held_first / kRowsAtATime, last_block = (part.held_last - 1) / kRowsAtATime;
#pragma omp parallel for schedule(dynamic) if (last_block > first_block)
  for (int64_t block = first_block; block <= last_block; ++block) {
    const int64_t begin = std::max(block * kRowsAtATime, part.held_first);
    state_.read(begin, std::min((block + 1) * kRowsAtATime, part.held_last), dense + (begin - part.held_first) * row);
  }
  return pack(part, dense, memory);
}

const void* PieceReader::read(Memory& memory) const {
  return piece_.empty() ? read(0, 1, memory) : read(piece_[0].begin, piece_[0].end, memory);
}

const void* PieceReader::copy(int64_t first, int64_t last, Memory& memory, void* to) const {
  const Part part = part_of(first, last);
  if (state_.dense() == nullptr && part.wanted == part.all) {
    void* const dense = memory.rows.of(bytes_of(part.all));
    return state_.read_and_copy(part.held_first, part.held_last, dense, to) ? dense : nullptr;
  }
  const void* const dense = read(first, last, memory);
  return copy_finite(state_.dtype(), to, dense, part.wanted) ? dense : nullptr;
}

}  // namespace partita
