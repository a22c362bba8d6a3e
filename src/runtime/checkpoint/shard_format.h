#pragma once
// The format of a checkpoint's file: a header, and contiguous pieces of tensors.
//
// The metadata of the header have, for each tensor, "box:NAME" ("0:16,0:64 of 64,64") and "tiles:NAME", the checksums
// of its tiles in order, 16 hexadecimal digits each. The manifest has a checksum of the header, which thus covers all
// of these.

#include <string>
#include <vector>

#include "base/checksum.h"
#include "runtime/checkpoint/tiles.h"

namespace partita {

/// A box of a tensor that is written to one file.
struct ShardPiece {
  std::string name;            // name of the tensor, once per file
  Type type;                   // type of the whole tensor
  std::vector<int64_t> parts;  // its grid of tiles
  Box box;
};

/// A file's entry in the manifest.
struct ShardDigest {
  int64_t bytes = 0;
  std::string header;            // checksum_of_text of the JSON header
  std::vector<uint64_t> pieces;  // per piece: checksum_of_all of its tiles
};

/// Positions of the pieces in a file. They are contiguous, each aligned to its element.
struct FileLayout {
  std::vector<size_t> order;    // indices of the pieces in file order
  std::vector<int64_t> begins;  // per piece, in bytes after the header
  int64_t bytes = 0;            // bytes of all pieces
};
FileLayout file_layout(const std::vector<ShardPiece>& pieces);

/// Type of a piece as it is written: the tensor's element type and the shape of the box.
Type piece_type(const ShardPiece& piece);

/// Checksums of the tiles, per piece.
using TileChecksums = std::vector<std::vector<uint64_t>>;
/// Zeros in place of the checksums of these pieces: one per tile, none for a piece without elements.
TileChecksums no_checksums(const std::vector<ShardPiece>& pieces);
/// The checksum of all checksums of a piece's tiles.
uint64_t checksum_of_all(const std::vector<uint64_t>& checksums);
/// The checksum of a tile inside the dense array of `around`, a box that contains it. `checksum` is working space.
uint64_t tile_checksum(Checksum& checksum, const Box& tile, const Box& around, const void* dense, DType dtype);
/// Computes the checksums of rows [first, last) of the piece's grid of tiles. A row has all tiles with one index along
/// the first dimension; a scalar has one row. `dense` begins with the first element of row `first`. `checksums` has an
/// element for each tile of the piece; those of other rows are not changed. The piece is not empty.
void checksum_rows(const ShardPiece& piece, const Tiles& tiles, int64_t first, int64_t last, const void* dense,
                   std::vector<uint64_t>& checksums);
/// Throws RuntimeFailure(non_finite), naming the rows [first, last) of tiles.
[[noreturn]] void throw_not_finite(const ShardPiece& piece, const Tiles& tiles, int64_t first, int64_t last);
/// Computes the checksums of rows [first, last), as checksum_rows does, one row after another. Throws
/// RuntimeFailure(non_finite) at the first row with an element that is NaN or infinite.
void check_rows(const ShardPiece& piece, const Tiles& tiles, int64_t first, int64_t last, const void* dense,
                std::vector<uint64_t>& checksums);

/// A header whose length does not depend on the checksums, so it is formatted once and patched per file.
class ShardHeader {
 public:
  ShardHeader(const std::vector<ShardPiece>& pieces, const FileLayout& layout);
  /// The JSON text with these checksums. Together with its length in 8 bytes before it, it ends at a disk block. Valid
  /// until the next call.
  const std::string& print(const TileChecksums& checksums);
  /// Bytes of the text and its length: the offset at which the elements begin.
  int64_t bytes() const { return static_cast<int64_t>(sizeof(uint64_t) + text_.size()); }

 private:
  std::string text_;
  std::vector<size_t> digits_;  // per piece: offset of its checksums in text_
};
/// The digest of a file with that header.
ShardDigest digest_of(const std::string& header, const FileLayout& layout, const TileChecksums& checksums);

/// Prefix of a tensor's name in metadata keys: the checksums of its tiles.
constexpr const char* kTilesOf = "tiles:";
/// Prefix of a tensor's name in metadata keys: the box that is in the file, formatted by print_box.
constexpr const char* kBoxOf = "box:";

/// Parses the checksums of a tensor. Empty unless there are `count` well-formed ones.
std::vector<uint64_t> parse_checksums(std::string_view text, int64_t count);

/// Returns the ranges of a box and the sizes of the whole tensor: "0:16,0:64 of 64,64"; "" for a scalar.
std::string print_box(const Box& box);
/// " in 0:16,0:64 of 64,64", for messages; "" for a scalar.
std::string print_in_box(const Box& box);

}  // namespace partita
