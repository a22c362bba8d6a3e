#pragma once
// Writes token ids in Megatron's format: NAME.bin and NAME.idx.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "frontend/data/token_type.h"

namespace partita {

/// Writes documents one after another. The files get their names when all is written, so an interrupted run leaves
/// older files as they were.
class IndexedWriter {
 public:
  /// Creates the files NAME.bin.part and NAME.idx.part. `type` is u16 or i32, which all ids fit. Throws
  /// RuntimeFailure(cannot_write) if that is not possible.
  IndexedWriter(std::string name, TokenType type);
  IndexedWriter& operator=(IndexedWriter&&) = delete;
  /// Removes the files that have not got their names.
  ~IndexedWriter();

  /// Writes a document. Throws RuntimeFailure(cannot_write), and InvalidFile for more than 2^31 - 1 ids.
  void add(const std::vector<int32_t>& ids);
  /// Writes the index, forces both files to the disk and gives them their names. Throws RuntimeFailure(cannot_write).
  void finish();

  int64_t documents() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t tokens() const { return tokens_; }

 private:
  void write(const File& file, const std::string& path, const void* data, size_t bytes);

  std::string name_, bin_, idx_;
  TokenType type_;
  File bin_file_, idx_file_;
  std::vector<int32_t> lengths_{};
  int64_t tokens_ = 0;
};

}  // namespace partita
