#include "runtime/checkpoint/shard_format.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/philox.h"
#include "runtime/checkpoint/safetensors_header.h"

namespace partita {
namespace {

/// The bytes of a tile, element by element.
std::string bytes_of_tile(const Box& tile, const Box& around, const std::string& dense, size_t size, size_t dim = 0,
                          int64_t place = 0) {
  if (dim == tile.size()) return dense.substr(static_cast<size_t>(place) * size, size);
  std::string bytes;
  for (int64_t i = tile[dim].begin; i < tile[dim].end; ++i) {
    bytes += bytes_of_tile(tile, around, dense, size, dim + 1, place * around[dim].count() + i - around[dim].begin);
  }
  return bytes;
}

struct TileCase {
  const char* name;
  DType dtype;
  Box tile, around;
};

TEST(ShardFormat, TheChecksumOfATileIsThatOfItsBytesInOrder) {
  const std::vector<TileCase> cases = {
      {"runs of 1 byte", DType::u8, {{3, 30, 64}, {5, 6, 9}}, {{3, 30, 64}, {0, 9, 9}}},
      {"runs of 31 bytes", DType::u8, {{0, 7, 7}, {1, 32, 40}}, {{0, 7, 7}, {0, 40, 40}}},
      {"runs of 32 bytes", DType::f32, {{0, 9, 9}, {8, 16, 24}}, {{0, 9, 9}, {0, 24, 24}}},
      {"runs of 33 bytes", DType::u8, {{2, 7, 7}, {7, 40, 40}}, {{1, 7, 7}, {0, 40, 40}}},
      {"runs of 84 bytes", DType::f32, {{85, 170, 2048}, {491, 512, 512}}, {{85, 170, 2048}, {0, 512, 512}}},
      {"put together twice", DType::f64, {{0, 50, 50}, {0, 100, 101}}, {{0, 50, 50}, {0, 101, 101}}},
      {"runs of 16 KiB", DType::f32, {{0, 3, 3}, {0, 4096, 4100}}, {{0, 3, 3}, {0, 4100, 4100}}},
      {"longer runs", DType::f32, {{0, 3, 3}, {2, 4100, 4100}}, {{0, 3, 3}, {0, 4100, 4100}}},
      {"all in one run", DType::bf16, {{0, 60, 60}, {0, 700, 700}}, {{0, 60, 60}, {0, 700, 700}}},
      {"a kernel's", DType::f32, {{2, 5, 9}, {4, 8, 8}, {0, 3, 3}}, {{1, 9, 9}, {0, 8, 8}, {0, 3, 3}}},
      {"runs of three dimensions", DType::f32, {{2, 5, 9}, {4, 7, 8}, {1, 3, 3}}, {{1, 9, 9}, {0, 8, 8}, {0, 3, 3}}},
      {"a scalar", DType::i64, {}, {}},
      {"after all of these", DType::u8, {{0, 7, 7}, {1, 32, 40}}, {{0, 7, 7}, {0, 40, 40}}},
  };
  Checksum checksum;  // one for all: nothing of a tile stays in it
  for (const TileCase& test : cases) {
    const size_t size = size_of(test.dtype);
    std::string dense(static_cast<size_t>(elements_of(test.around)) * size, '\0');
    for (size_t i = 0; i < dense.size(); ++i) dense[i] = static_cast<char>(random_below(5, i, 0, 256));
    const std::string bytes = bytes_of_tile(test.tile, test.around, dense, size);
    EXPECT_EQ(tile_checksum(checksum, test.tile, test.around, dense.data(), test.dtype),
              checksum_of(bytes.data(), bytes.size()))
        << test.name;
  }
}

/// Prints a header with other checksums several times: it has those of each piece.
void expect_checksums_in_header(const std::vector<std::string>& names) {
  std::vector<ShardPiece> pieces;
  for (const std::string& name : names) {
    const Type type{DType::f32, {48, name == "empty" ? 0 : 32}};
    pieces.push_back({name, type, choose_parts(type), whole_box(type.shape)});
  }
  const FileLayout layout = file_layout(pieces);
  ShardHeader header(pieces, layout);
  const int64_t bytes = header.bytes();
  for (uint64_t round = 0; round < 3; ++round) {
    TileChecksums checksums = no_checksums(pieces);
    for (size_t i = 0; i < pieces.size(); ++i) {
      for (size_t tile = 0; tile < checksums[i].size(); ++tile) {
        checksums[i][tile] = checksum_of(&tile, sizeof tile) + i + round;
      }
    }
    const std::string& text = header.print(checksums);
    EXPECT_EQ(header.bytes(), bytes);
    EXPECT_EQ((text.size() + sizeof(uint64_t)) % 4096, 0u);
    const SafetensorsHeader parsed = parse_safetensors_header(text, layout.bytes, "a file");
    for (size_t i = 0; i < pieces.size(); ++i) {
      const std::string& digits = parsed.metadata.at(kTilesOf + pieces[i].name);
      EXPECT_EQ(parse_checksums(digits, static_cast<int64_t>(checksums[i].size())), checksums[i]) << pieces[i].name;
    }
  }
}

TEST(ShardFormat, AHeaderIsPrintedWithOtherChecksums) {
  expect_checksums_in_header({"w", "a \"name\" \\ of w", "tiles:w", "empty", "w.more"});
}

// The box of the second stands before the checksums of the first.
TEST(ShardFormat, ANameMayLookLikeTheKeyOfAnother) {
  expect_checksums_in_header({"w", "z\"tiles:w"});
  expect_checksums_in_header({"w", "z,\"tiles:w\":\""});
}

TEST(ShardFormat, PiecesAreAlignedToTheirElementsAndToLinesOfTheCache) {
  std::vector<ShardPiece> pieces;
  for (const DType dtype : {DType::u8, DType::f64, DType::bf16, DType::f32}) {
    for (const int64_t size : {1, 3, 16, 40, 64, 0, 128, 192}) {
      const Type type{dtype, {size}};
      pieces.push_back({fmt::format("{}", pieces.size()), type, choose_parts(type), whole_box(type.shape)});
    }
  }
  const FileLayout layout = file_layout(pieces);
  int64_t end = 0;
  for (const size_t i : layout.order) {
    const int64_t bytes = pieces[i].type.bytes();
    EXPECT_EQ(layout.begins[i], end) << "there is a gap before piece " << i;
    EXPECT_EQ(layout.begins[i] % static_cast<int64_t>(size_of(pieces[i].type.dtype)), 0) << i;
    if (bytes % 64 == 0) {
      EXPECT_EQ(layout.begins[i] % 64, 0) << i;
    }
    end += bytes;
  }
  EXPECT_EQ(layout.bytes, end);
}

// Files of earlier versions stay readable: they contain these checksums.
TEST(ShardFormat, ChecksumsAreXxh3) {
  EXPECT_EQ(print_checksum(checksum_of("", 0)), "2d06800538d394c2");
  EXPECT_EQ(print_checksum(checksum_of("abc", 3)), "78af5f94892f3950");
  EXPECT_EQ(checksum_of_text(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(checksum_of_text("abc"), "06b05ab6733a618578af5f94892f3950");
}

}  // namespace
}  // namespace partita
