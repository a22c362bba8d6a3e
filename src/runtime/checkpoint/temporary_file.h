#pragma once
// A file that replaces its target as a whole.

#include <sys/types.h>

#include <string>

#include "base/files.h"

namespace partita {

/// Returns the final target of a symbolic link, whether or not it exists; `path` itself if it is none. Throws
/// RuntimeFailure(cannot_write) if a link cannot be read or there are more than 40.
std::string follow_links(const std::string& path);

/// A file next to its target that is removed unless it was renamed to the target. The constructor first removes files
/// of killed processes. Every function throws RuntimeFailure(cannot_write).
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path);
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();
  void write(const void* data, size_t bytes);
  /// Overwrites bytes that were written before. Throws as the class says.
  void rewrite(const void* data, size_t bytes, int64_t offset);
  void commit() {
    finish();
    replace();
  }
  /// Gives the file its permissions, forces it to the disk and closes it. Throws as the class says.
  void finish();
  /// Renames the file to its target, and forces the name to the disk. Throws as the class says.
  void replace();

 private:
  [[noreturn]] void fail();

  std::string path_, target_;
  mode_t mode_;
  std::string name_;
  File file_;
};

}  // namespace partita
