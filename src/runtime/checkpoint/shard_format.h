#pragma once
// What a file of a checkpoint consists of: a header, and pieces of tensors that lie one behind the other.
//
// The metadata of the header have, for each tensor, "box:NAME" ("0:16,0:64 of 64,64") and "tiles:NAME", the checksums
// of its tiles in their order, 16 hexadecimal digits each. The manifest has a checksum of the header, and so of all of
// these.

#include <string>
#include <vector>

#include "runtime/checkpoint/checksum.h"
#include "runtime/checkpoint/tiles.h"

namespace partita {

/// A box of a tensor that is written to one file.
struct ShardPiece {
  std::string name;            // of the tensor, once per file
  Type type;                   // of the whole tensor
  std::vector<int64_t> parts;  // its grid of tiles
  Box box;
};

/// What the manifest has of a file.
struct ShardDigest {
  int64_t bytes = 0;
  std::string header;            // checksum_of_text of the JSON header
  std::vector<uint64_t> pieces;  // for each piece checksum_of_all its tiles
};

/// How pieces lie in a file, one behind the other, each aligned to its element.
struct FileLayout {
  std::vector<size_t> order;    // numbers of the pieces as they lie
  std::vector<int64_t> begins;  // of each piece, in bytes behind the header
  int64_t bytes = 0;            // of all
};
FileLayout file_layout(const std::vector<ShardPiece>& pieces);

/// Of what is written of a tensor.
Type piece_type(const ShardPiece& piece);

/// For each piece the checksums of its tiles.
using TileChecksums = std::vector<std::vector<uint64_t>>;
/// Zeros in place of them.
TileChecksums no_checksums(const std::vector<ShardPiece>& pieces);
uint64_t checksum_of_all(const std::vector<uint64_t>& checksums);
/// The checksum of a tile that lies in the dense array of `around`, a box around it.
uint64_t tile_checksum(Checksum& checksum, const Box& tile, const Box& around, const void* dense, DType dtype);
/// Computes the checksums of rows [first, last) of tiles, along the first dimension, whose elements are `dense`; a
/// scalar has one row. The piece is not empty.
void checksum_rows(const ShardPiece& piece, const Tiles& tiles, int64_t first, int64_t last, const void* dense,
                   std::vector<uint64_t>& checksums);
/// Throws RuntimeFailure(non_finite), which names the rows.
[[noreturn]] void throw_not_finite(const ShardPiece& piece, const Tiles& tiles, int64_t first, int64_t last);
/// Computes the checksums, row by row; throws when an element is NaN or infinite.
void check_rows(const ShardPiece& piece, const Tiles& tiles, int64_t first, int64_t last, const void* dense,
                std::vector<uint64_t>& checksums);

/// The header of a file, which is as long whatever the checksums are: printed once, for as many files as there are.
class ShardHeader {
 public:
  ShardHeader(const std::vector<ShardPiece>& pieces, const FileLayout& layout);
  /// The JSON text with these checksums; it and its length in 8 bytes in front of it end at a block of the disk.
  const std::string& print(const TileChecksums& checksums);
  /// Of the text and its length, where the elements begin.
  int64_t bytes() const { return static_cast<int64_t>(sizeof(uint64_t) + text_.size()); }

 private:
  std::string text_;
  std::vector<size_t> digits_;  // where those of each piece begin
};
/// Of a file with that header.
ShardDigest digest_of(const std::string& header, const FileLayout& layout, const TileChecksums& checksums);

/// In front of the name of a tensor, in metadata: the checksums of its tiles.
constexpr const char* kTilesOf = "tiles:";
/// The same: the box that is in the file, as print_box says it.
constexpr const char* kBoxOf = "box:";

/// The checksums that kTilesOf has of a tensor; none unless they are `count` and well formed.
std::vector<uint64_t> parse_checksums(std::string_view text, int64_t count);

/// "0:16,0:64 of 64,64"; "" for a scalar.
std::string print_box(const Box& box);
/// " in 0:16,0:64 of 64,64", for messages; "" for a scalar.
std::string print_in_box(const Box& box);

}  // namespace partita
