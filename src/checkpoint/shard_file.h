#pragma once
// One file of a checkpoint: a plain safetensors file with what one rank wrote, each tensor a box of a whole one.
//
// Its metadata have, for each tensor, "box:NAME" ("0:16,0:64 of 64,64") and "tiles:NAME", the checksums of its tiles in
// their order, 16 hexadecimal digits each. The manifest has a checksum of the header, and so of all of these.

#include <span>

#include "checkpoint/checksum.h"
#include "checkpoint/direct_output.h"
#include "checkpoint/files.h"
#include "checkpoint/safetensors_header.h"
#include "checkpoint/tiles.h"

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
  std::vector<uint64_t> pieces;  // for each piece a checksum of those of its tiles
};

/// How pieces lie in a file, one behind the other, each aligned to its element.
struct FileLayout {
  std::vector<size_t> order;    // numbers of the pieces as they lie
  std::vector<int64_t> begins;  // of each piece, in bytes behind the header
  int64_t bytes = 0;            // of all
};
FileLayout file_layout(const std::vector<ShardPiece>& pieces);

/// Writes a new file. Whatever cannot be written is a RuntimeFailure(cannot_write).
class ShardFileWriter {
 public:
  /// `pieces` are those that will be written, in the order of `order`. `data`: memory from DirectOutput::allocate where
  /// all of them lie as file_layout says, which outlives the object and is written past the system's file cache;
  /// nullptr: they lie anywhere, and the cache is used.
  ShardFileWriter(const std::string& path, std::vector<ShardPiece> pieces, const std::byte* data = nullptr);

  const std::vector<ShardPiece>& pieces() const { return pieces_; }
  /// Numbers of the pieces as they lie in the file.
  const std::vector<size_t>& order() const { return layout_.order; }
  /// The elements of a piece, dense. Throws RuntimeFailure(non_finite) when one is NaN or infinite.
  void write(size_t piece, const void* dense);
  /// Behind the last piece: everything is on the disk.
  ShardDigest finish();

 private:
  std::string header() const;
  int64_t bytes_of(size_t piece) const;
  void write_cached(size_t piece, const void* dense);

  std::string path_;
  std::vector<ShardPiece> pieces_;
  FileLayout layout_;
  std::vector<std::vector<uint64_t>> checksums_;  // per piece, of its tiles
  File file_;
  const std::byte* data_;
  std::optional<DirectOutput> direct_;
  int64_t data_begin_ = 0;
};

/// Reads boxes of the pieces of a file, and checks what it reads.
class ShardFileReader {
 public:
  /// Opens the file and reads its header. Throws InvalidFile, naming the file, unless it has that size and header and
  /// holds these pieces. `bytes_read` counts what is read of it.
  ShardFileReader(std::string path, int64_t bytes, const std::string& header, std::vector<ShardPiece> pieces,
                  int64_t& bytes_read);

  /// Elements of `part`, which lies in the piece of this name, go to their places in `to`, the dense array of `target`,
  /// a box around it, in `dtype`. Reads whole tiles alone. Throws InvalidFile that names the tensor when the bytes are
  /// not those that were written.
  void read(const std::string& name, const Box& part, const Box& target, DType dtype, void* to) const;
  /// The checksum that ShardDigest has of a piece, as its header says.
  uint64_t checksum(const std::string& name) const;

 private:
  struct Entry {
    ShardPiece piece;
    int64_t begin = 0;  // in the file
    std::vector<uint64_t> checksums;
  };

  std::string path_;
  File file_;
  std::map<std::string, Entry> entries_;
  int64_t& bytes_read_;
};

/// In front of the name of a tensor, in metadata: the box that is in the file, as print_box says it.
constexpr const char* kBoxOf = "box:";

/// "0:16,0:64 of 64,64"; "" for a scalar.
std::string print_box(const Box& box);

/// Runs of elements from one element type to another, as cast() does.
void convert_elements(DType from, const void* source, DType to, void* target, int64_t count);

}  // namespace partita
