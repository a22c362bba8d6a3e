#pragma once
// One file of a checkpoint: a plain safetensors file with what one rank wrote, each tensor a box of a whole one.

#include <map>

#include "runtime/checkpoint/files.h"
#include "runtime/checkpoint/shard_format.h"

namespace partita {

/// Writes a new file. Whatever cannot be written is a RuntimeFailure(cannot_write).
class ShardFileWriter {
 public:
  /// `pieces` are those that will be written.
  ShardFileWriter(const std::string& path, std::vector<ShardPiece> pieces);

  /// Numbers of the pieces as they lie in the file.
  const std::vector<size_t>& order() const { return layout_.order; }
  /// The elements of a piece, dense. Throws RuntimeFailure(non_finite) when one is NaN or infinite.
  void write(size_t piece, const void* dense);
  /// Behind the last piece: everything is on the disk.
  ShardDigest finish();

 private:
  std::string path_;
  std::vector<ShardPiece> pieces_;
  FileLayout layout_;
  TileChecksums checksums_;
  ShardHeader header_;
  File file_;
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

/// Runs of elements from one element type to another, as cast() does.
void convert_elements(DType from, const void* source, DType to, void* target, int64_t count);

}  // namespace partita
