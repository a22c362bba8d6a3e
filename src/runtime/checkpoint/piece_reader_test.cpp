#include "runtime/checkpoint/piece_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/philox.h"
#include "runtime/device/cpu/onednn/engine.h"
#include "runtime/device/cpu/row_reader.h"

namespace partita {
namespace {

Array random_array(const Type& type) {
  Array array(type);
  for (int64_t i = 0; i < type.elements(); ++i) array.set(i, random_normal(8, static_cast<uint64_t>(i), 2));
  return array;
}

/// The elements of `part` in the array of `held`, a box around it.
Array part_of(const Array& array, const Box& held, const Box& part) {
  Array result(Type{array.type().dtype, shape_of(part)});
  for_common_runs(part, held, part, [&](int64_t from, int64_t to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) result.set(to + i, array.at(from + i));
  });
  return result;
}

/// Returns an array in oneDNN's format.
std::vector<std::byte> formatted_of(const Array& array, const MemoryFormat& format) {
  std::vector<std::byte> formatted(static_cast<size_t>(format.bytes));
  const void* from = array.tensor().data;
  void* to = formatted.data();
  make_onednn_reorder(array.type(), MemoryFormat{}, format)->run({&from, 1}, {&to, 1}, nullptr);
  return formatted;
}

/// All ranges of rows of a piece have its elements; `data` are those of `held`.
void expect_piece(const Array& array, const Box& held, const Box& piece, const void* data,
                  const std::function<std::unique_ptr<RowReader>()>& make_rows) {
  const PieceReader reader(StateReader(held, array.type().dtype, data, make_rows()), piece);
  PieceReader::Memory memory;
  for (int64_t first = piece[0].begin; first < piece[0].end; ++first) {
    for (int64_t last = first + 1; last <= piece[0].end; ++last) {
      Box part = piece;
      part[0].begin = first;
      part[0].end = last;
      const Array expected = part_of(array, held, part);
      const auto bytes = static_cast<size_t>(expected.type().bytes());
      EXPECT_EQ(std::memcmp(reader.read(first, last, memory), expected.tensor().data, bytes), 0)
          << "rows " << first << " to " << last;
      std::vector<std::byte> space(bytes + 128);
      std::byte* line = space.data() + 64 - reinterpret_cast<uintptr_t>(space.data()) % 64;
      for (std::byte* copy : {line, line + 8}) {
        const void* found = reader.copy(first, last, memory, copy);
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(std::memcmp(found, expected.tensor().data, bytes), 0) << "rows " << first << " to " << last;
        EXPECT_EQ(std::memcmp(copy, expected.tensor().data, bytes), 0) << "rows " << first << " to " << last;
      }
    }
  }
  const Array all = part_of(array, held, piece);
  EXPECT_EQ(std::memcmp(reader.read(memory), all.tensor().data, static_cast<size_t>(all.type().bytes())), 0);
}

// The part that a rank holds begins at row 3 and column 16 of a value of 30 x 64.
const Box kHeld = {{3, 21, 30}, {16, 48, 64}, {0, 1, 1}, {0, 1, 1}};
const Box kRows = {{5, 19, 30}, {16, 48, 64}, {0, 1, 1}, {0, 1, 1}};
const Box kColumns = {{3, 21, 30}, {20, 40, 64}, {0, 1, 1}, {0, 1, 1}};
const Box kOneRow = {{7, 8, 30}, {20, 40, 64}, {0, 1, 1}, {0, 1, 1}};

TEST(PieceReader, ReadsPartsOfDenseStates) {
  const Array array = random_array({DType::f64, shape_of(kHeld)});
  for (const Box& piece : {kHeld, kRows, kColumns, kOneRow}) {
    expect_piece(array, kHeld, piece, array.tensor().data, [] { return nullptr; });
  }
}

TEST(PieceReader, WhatLiesDenseIsNotCopied) {
  const Array array = random_array({DType::f32, shape_of(kHeld)});
  const auto* data = static_cast<const std::byte*>(array.tensor().data);
  PieceReader::Memory memory;
  const auto place = [&](const Box& piece, int64_t first, int64_t last) {
    const PieceReader reader(StateReader(kHeld, DType::f32, data, nullptr), piece);
    return static_cast<const std::byte*>(reader.read(first, last, memory));
  };
  EXPECT_EQ(place(kRows, 6, 9), data + 3 * 32 * 4);
  EXPECT_EQ(place(kOneRow, 7, 8), data + (4 * 32 + 4) * 4);
}

TEST(PieceReader, ReadsPartsOfStatesInFormatsOfKernels) {
  const Type type{DType::f32, shape_of(kHeld)};
  const Array array = random_array(type);
  for (const char* tag : {"ABcd16b16a", "ABcd8a8b", "Acdb16a"}) {
    const MemoryFormat format{tag, format_bytes(type, {tag, 1})};
    const std::vector<std::byte> formatted = formatted_of(array, format);
    for (const Box& piece : {kHeld, kRows, kColumns, kOneRow}) {
      SCOPED_TRACE(tag);
      expect_piece(array, kHeld, piece, formatted.data(), [&] { return make_row_reader(type, format); });
    }
  }
}

// Rows are shared by threads when all are read.
TEST(PieceReader, ReadsAllRowsOfLargePieces) {
  const Type type{DType::f32, {300, 40, 1, 1}};
  const Array array = random_array(type);
  const MemoryFormat format{"ABcd16b16a", format_bytes(type, {"ABcd16b16a", 1})};
  const std::vector<std::byte> formatted = formatted_of(array, format);
  Box piece = whole_box(type.shape);
  piece[0].begin = 7;
  PieceReader::Memory memory;
  const PieceReader reader(
      StateReader(whole_box(type.shape), type.dtype, formatted.data(), make_row_reader(type, format)), piece);
  const Array expected = part_of(array, whole_box(type.shape), piece);
  EXPECT_EQ(std::memcmp(reader.read(memory), expected.tensor().data, static_cast<size_t>(expected.type().bytes())), 0);
}

TEST(PieceReader, NumbersThatAreNotFiniteAreNotCopied) {
  const Type type{DType::f32, shape_of(kHeld)};
  Array array = random_array(type);
  array.set(32 * 9 + 20, INFINITY);  // row 12, column 36
  const MemoryFormat format{"ABcd16b16a", format_bytes(type, {"ABcd16b16a", 1})};
  const std::vector<std::byte> formatted = formatted_of(array, format);
  Array copy(type);
  PieceReader::Memory memory;
  for (const Box& piece : {kHeld, kColumns}) {
    const PieceReader dense(StateReader(kHeld, DType::f32, array.tensor().data, nullptr), piece);
    const PieceReader made(StateReader(kHeld, DType::f32, formatted.data(), make_row_reader(type, format)), piece);
    for (const PieceReader* reader : {&dense, &made}) {
      EXPECT_NE(reader->copy(3, 12, memory, copy.data()), nullptr);
      EXPECT_EQ(reader->copy(11, 13, memory, copy.data()), nullptr);
      EXPECT_NE(reader->copy(13, 21, memory, copy.data()), nullptr);
    }
  }
}

TEST(PieceReader, RefusesAPieceOutsideOfWhatIsHeld) {
  for (const Range& rows : {Range{2, 9, 30}, Range{20, 22, 30}, Range{25, 30, 30}}) {
    Box piece = kHeld;
    piece[0] = rows;
    EXPECT_THROW(PieceReader(StateReader(kHeld, DType::f32, nullptr, nullptr), piece), InternalError);
  }
}

TEST(PieceReader, ReadsScalarsAndNothing) {
  const int64_t steps = 42;
  PieceReader::Memory memory;
  const PieceReader scalar(StateReader({}, DType::i64, &steps, nullptr), {});
  EXPECT_EQ(scalar.read(0, 1, memory), &steps);
  EXPECT_EQ(scalar.read(memory), &steps);
  const PieceReader none(StateReader(kHeld, DType::f32, &steps, nullptr),
                         {{9, 9, 30}, {16, 48, 64}, {0, 1, 1}, {0, 1, 1}});
  EXPECT_EQ(none.read(memory), nullptr);
}

}  // namespace
}  // namespace partita
