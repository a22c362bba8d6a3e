#pragma once
// Reads and writes one file of a checkpoint: a plain safetensors file of one rank, in which each tensor is a box of a
// whole one.

#include <map>

#include "base/open_files.h"
#include "runtime/checkpoint/shard_format.h"

namespace partita {

/// Writes a new file. All functions throw RuntimeFailure(cannot_write) on an error of the file system.
class ShardFileWriter {
 public:
  /// Creates the file for `pieces`, all of which will be written. Throws RuntimeFailure(cannot_write) if it exists
  /// already or cannot be created.
  ShardFileWriter(const std::string& path, std::vector<ShardPiece> pieces);

  /// Indices of the pieces in file order.
  const std::vector<size_t>& order() const { return layout_.order; }
  /// Writes the elements of piece number `piece`, given dense. Throws RuntimeFailure(cannot_write) on an error of the
  /// file system, RuntimeFailure(non_finite) if an element is NaN or infinite, and RuntimeFailure(out_of_memory) if the
  /// thread that writes a large piece cannot be started.
  void write(size_t piece, const void* dense);
  /// Writes the header after all pieces were written, and waits until the file is on the disk. Returns the file's
  /// digest. Throws RuntimeFailure(cannot_write) on an error of the file system.
  ShardDigest finish();

 private:
  std::string path_;
  std::vector<ShardPiece> pieces_;
  FileLayout layout_;
  TileChecksums checksums_;
  ShardHeader header_;
  FileInTurn file_;
};

/// Reads boxes of the pieces of a file, and verifies what it reads.
class ShardFileReader {
 public:
  /// Reads the header of the file, which `files` opens for this and for later reads. `bytes` and `header` are its size
  /// and the checksum of its header, `pieces` what it contains. Adds the bytes read to `bytes_read`; that and `files`
  /// outlive the reader. Throws InvalidFile, naming the file, if it cannot be opened, is not a regular file, or differs
  /// from what is given; MissingFile if this process has too many open files or too little memory.
  ShardFileReader(std::string path, int64_t bytes, const std::string& header, std::vector<ShardPiece> pieces,
                  OpenFiles& files, int64_t& bytes_read);

  /// Copies the elements of `part`, a box inside the piece `name`, to their positions in `to`, the dense array of
  /// `target`, in `dtype`. `target` is a box that contains `part`. Reads only whole tiles. Throws InvalidFile, naming
  /// the tensor, if the bytes cannot be read or are not those that were written.
  void read(const std::string& name, const Box& part, const Box& target, DType dtype, void* to) const;
  /// Returns the checksum of a piece, as in ShardDigest, computed from the file's header. `name` is that of a piece.
  uint64_t checksum(const std::string& name) const;

 private:
  struct Entry {
    ShardPiece piece;
    int64_t begin = 0;  // offset in the file
    std::vector<uint64_t> checksums;
  };

  /// Returns the file, open. Throws as the constructor does.
  std::shared_ptr<const File> open() const;

  std::string path_;
  int64_t bytes_ = 0;
  OpenFiles& files_;
  std::map<std::string, Entry> entries_;
  int64_t& bytes_read_;
};

}  // namespace partita
