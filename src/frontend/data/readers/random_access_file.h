#pragma once
// Files that are read in place: any part at any time, through the file cache of the system.

#include <filesystem>
#include <memory>

#include "base/files.h"

namespace partita {

/// A file whose parts are read when they are needed. Nothing of it is kept in memory. It is not mapped, so a file that
/// becomes shorter is an error and not a signal. Copies share the open file.
class RandomAccessFile {
 public:
  /// Opens the file. Throws MissingFile if it cannot be opened, InvalidFile if it is not a regular file.
  explicit RandomAccessFile(std::filesystem::path path);

  /// Number of bytes when the file was opened.
  int64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }
  /// Tells the system that parts will be read in random order, so that it reads nothing after them in advance.
  void expect_random_reads() const;
  /// Reads `bytes` bytes from `offset` on. Thread-safe. Throws InvalidFile if the file ends before or cannot be read.
  void read(int64_t offset, void* to, int64_t bytes) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const File> file_;
  int64_t size_ = 0;
};

}  // namespace partita
