#include "checkpoint/share_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "base/philox.h"
#include "base/shape.h"
#include "checkpoint/shard_file.h"
#include "data/readers/test_files.h"

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
          piece_of("kernel", {DType::f64, {64, 16, 3, 3}}, whole_box({64, 16, 3, 3}))};
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

std::vector<std::byte> bytes_of(const Array& array) {
  const auto* begin = static_cast<const std::byte*>(array.tensor().data);
  return {begin, begin + array.type().bytes()};
}

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(ShareCopies, AFileIsThatOfTheWriterOfPieces) {
  const TempDir folder;
  const std::vector<ShardPiece> pieces = some_pieces();
  const std::vector<Array> arrays = random_elements(pieces);
  ShareCopy copy(pieces);
  ShardFileWriter writer(folder.path().string() + "/pieces", pieces);
  for (const size_t i : writer.order()) {
    const std::vector<std::byte> bytes = bytes_of(arrays[i]);
    writer.write(i, bytes.data());
    if (!bytes.empty()) std::memcpy(copy.place(i), bytes.data(), bytes.size());
  }
  copy.compute_checksums();
  const ShardDigest written = writer.finish(), copied = copy.write(folder.path().string() + "/copy");
  EXPECT_EQ(copied.bytes, written.bytes);
  EXPECT_EQ(copied.header, written.header);
  EXPECT_EQ(copied.pieces, written.pieces);
  EXPECT_EQ(bytes_of_file(folder.path() / "copy"), bytes_of_file(folder.path() / "pieces"));
}

TEST(ShareCopies, ChecksumsOfSomePiecesAreThoseOfAll) {
  const TempDir folder;
  const std::vector<ShardPiece> pieces = some_pieces();
  const std::vector<Array> arrays = random_elements(pieces);
  ShareCopy together(pieces), apart(pieces);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::vector<std::byte> bytes = bytes_of(arrays[i]);
    if (bytes.empty()) continue;
    for (ShareCopy* copy : {&together, &apart}) std::memcpy(copy->place(i), bytes.data(), bytes.size());
  }
  together.compute_checksums();
  for (const size_t i : {size_t{4}, size_t{3}, size_t{1}}) apart.compute_checksums_of(i);
  apart.compute_checksums(std::vector<size_t>{2, 0});
  together.write(folder.path().string() + "/together");
  apart.write(folder.path().string() + "/apart");
  EXPECT_EQ(bytes_of_file(folder.path() / "apart"), bytes_of_file(folder.path() / "together"));
}

TEST(ShareCopies, WhatIsNotFiniteIsRefused) {
  const std::vector<ShardPiece> pieces = some_pieces();
  for (size_t i : {size_t{1}, size_t{2}, size_t{4}}) {
    ShareCopy copy(pieces);
    const Type type = piece_type(pieces[i]);
    // All bits of the last element: a NaN of every float.
    std::memset(static_cast<std::byte*>(copy.place(i)) + type.bytes() - static_cast<int64_t>(size_of(type.dtype)), 0xff,
                size_of(type.dtype));
    for (const bool alone : {false, true}) {
      try {
        alone ? copy.compute_checksums_of(i) : copy.compute_checksums();
        FAIL() << pieces[i].name << " was taken";
      } catch (const RuntimeFailure& failure) {
        EXPECT_EQ(failure.code(), ExitCode::non_finite);
        EXPECT_NE(std::string(failure.what()).find("'" + pieces[i].name + "' is not finite"), std::string::npos);
      }
    }
  }
}

TEST(ShareCopies, AFileThatIsThereIsNotWrittenOver) {
  const TempDir folder;
  ShareCopy copy(some_pieces());
  copy.compute_checksums();
  copy.write(folder.path().string() + "/copy");
  EXPECT_THROW(copy.write(folder.path().string() + "/copy"), RuntimeFailure);
}

}  // namespace
}  // namespace partita
