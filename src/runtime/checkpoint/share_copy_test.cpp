#include "runtime/checkpoint/share_copy.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "base/finite.h"
#include "base/philox.h"
#include "base/shape.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/checkpoint/shard_file.h"

namespace partita {
namespace {

Box rows_of_box(const Shape& shape, int64_t begin, int64_t end) {
  Box box = whole_box(shape);
  box[0].begin = begin;
  box[0].end = end;
  return box;
}

ShardPiece piece_of(std::string name, Type type, Box box) {
  return {std::move(name), type, choose_parts(type), std::move(box)};
}

/// Large and small ones, parts, a scalar, one without elements, and whole numbers.
std::vector<ShardPiece> some_pieces() {
  return {piece_of("steps", {DType::i64, {}}, {}),
          piece_of("halves", {DType::bf16, {33, 7}}, rows_of_box({33, 7}, 5, 33)),
          piece_of("large", {DType::f32, {700, 1024}}, rows_of_box({700, 1024}, 100, 690)),
          piece_of("none", {DType::f32, {3, 8}}, rows_of_box({3, 8}, 2, 2)),
          piece_of("kernel", {DType::f64, {64, 16, 3, 3}}, whole_box({64, 16, 3, 3})),
          piece_of("scale", {DType::f32, {}}, {})};
}

std::vector<Array> random_elements(const std::vector<ShardPiece>& pieces) {
  std::vector<Array> arrays;
  for (const ShardPiece& piece : pieces) {
    Array& array = arrays.emplace_back(piece_type(piece));
    for (int64_t i = 0; i < array.type().elements(); ++i) {
      array.set(i, is_float(piece.type.dtype) ? random_normal(3, static_cast<uint64_t>(i), arrays.size())
                                              : static_cast<double>(7 * i + 1));
    }
  }
  return arrays;
}

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Rows of pieces, from their dense elements.
ShareCopy::CopyRows rows_of(const std::vector<ShardPiece>& pieces, const std::vector<Array>& arrays) {
  return [&](size_t piece, int64_t first, int64_t last, void* to) -> const void* {
    const Box& box = pieces[piece].box;
    const int64_t rows = box.empty() ? 1 : box[0].count(), before = box.empty() ? 0 : first - box[0].begin;
    EXPECT_TRUE(before >= 0 && first < last && before + last - first <= rows) << first << " to " << last;
    const Array& array = arrays[piece];
    const auto* dense = static_cast<const std::byte*>(array.tensor().data) + before * (array.type().bytes() / rows);
    const int64_t count = array.type().elements() / rows * (last - first);
    return copy_finite(array.type().dtype, to, dense, count) ? dense : nullptr;
  };
}

TEST(ShareCopies, FilesAreThoseOfTheWriterOfPieces) {
  const TempDir folder;
  const std::vector<ShardPiece> pieces = some_pieces();
  ShareCopy copy(pieces);
  // Again with other numbers: nothing of the first file is in the second.
  for (const bool with_checksums : {false, true}) {
    std::vector<Array> arrays = random_elements(pieces);
    if (with_checksums) arrays[2].set(5, 17);
    const std::string name = folder.path().string() + (with_checksums ? "/with_" : "/without_");
    ShardFileWriter writer(name + "pieces", pieces);
    for (const size_t i : writer.order()) writer.write(i, arrays[i].tensor().data);
    copy.fill(rows_of(pieces, arrays), with_checksums);
    if (!with_checksums) copy.compute_checksums();
    const ShardDigest written = writer.finish(), copied = copy.write(name + "copy");
    EXPECT_EQ(copied.bytes, written.bytes);
    EXPECT_EQ(copied.header, written.header);
    EXPECT_EQ(copied.pieces, written.pieces);
    EXPECT_EQ(bytes_of_file(name + "copy"), bytes_of_file(name + "pieces"));
  }
}

TEST(ShareCopies, WhatIsNotFiniteIsRefused) {
  const std::vector<ShardPiece> pieces = some_pieces();
  for (const size_t i : {size_t{1}, size_t{2}, size_t{4}, size_t{5}}) {
    std::vector<Array> arrays = random_elements(pieces);
    arrays[i].set(arrays[i].type().elements() - 1, std::numeric_limits<double>::quiet_NaN());
    for (const bool with_checksums : {false, true}) {
      ShareCopy copy(pieces);
      try {
        copy.fill(rows_of(pieces, arrays), with_checksums);
        FAIL() << pieces[i].name << " was taken";
      } catch (const RuntimeFailure& failure) {
        EXPECT_EQ(failure.code(), ExitCode::non_finite);
        const std::string text = failure.what(),
                          expected = "'" + pieces[i].name + "' is not finite, got NaN or infinity";
        EXPECT_NE(text.find(expected + (pieces[i].box.empty() ? ", expected numbers" : " in ")), std::string::npos)
            << text;
      }
    }
  }
}

// Whichever thread meets it: the rows that are named have it.
TEST(ShareCopies, TheRowsThatAreNotFiniteAreNamed) {
  const Type type{DType::f32, {2400, 512}};
  const std::vector<ShardPiece> pieces = {piece_of("w", type, rows_of_box(type.shape, 300, 2400))};
  for (const int64_t row : {300, 1234, 2399}) {
    std::vector<Array> arrays = random_elements(pieces);
    arrays[0].set((row - 300) * 512 + 77, std::numeric_limits<double>::infinity());
    ShareCopy copy(pieces);
    try {
      copy.fill(rows_of(pieces, arrays), true);
      FAIL() << "row " << row << " was taken";
    } catch (const RuntimeFailure& failure) {
      const std::string text = failure.what();
      const size_t place = text.find(" in ");
      ASSERT_NE(place, std::string::npos) << text;
      long begin = 0, end = 0;
      ASSERT_EQ(std::sscanf(text.c_str() + place, " in %ld:%ld,0:512 of 2400,512", &begin, &end), 2) << text;
      EXPECT_TRUE(begin <= row && row < end && end - begin <= 200) << text;
    }
  }
}

TEST(ShareCopies, WhatAReaderThrowsIsThrown) {
  ShareCopy copy(some_pieces());
  const auto copy_rows = [](size_t, int64_t, int64_t, void*) -> const void* {
    throw RuntimeFailure(ExitCode::out_of_memory, "[memory] no");
  };
  EXPECT_THROW(copy.fill(copy_rows, true), RuntimeFailure);
}

TEST(ShareCopies, AFileThatIsThereIsNotWrittenOver) {
  const TempDir folder;
  const std::vector<ShardPiece> pieces = some_pieces();
  const std::vector<Array> arrays = random_elements(pieces);
  ShareCopy copy(pieces);
  copy.fill(rows_of(pieces, arrays), true);
  copy.write(folder.path().string() + "/copy");
  EXPECT_THROW(copy.write(folder.path().string() + "/copy"), RuntimeFailure);
}

}  // namespace
}  // namespace partita
