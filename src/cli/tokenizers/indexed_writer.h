#pragma once
// Writes token ids in Megatron's format, NAME.bin and NAME.idx, and which of them are targets, NAME.mask.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "frontend/data/token_type.h"

namespace partita {

/// Writes the bits of a mask (frontend/data/readers/token_mask.h).
class MaskWriter {
 public:
  /// Creates the file, which begins with `tokens` targets. Throws RuntimeFailure(cannot_write).
  MaskWriter(const std::string& path, int64_t tokens);
  /// Writes whether the next token is a target.
  void add(bool is_target);
  /// Writes what is left and the number of tokens, and forces the file to the disk.
  void finish();

 private:
  void flush();

  std::string path_, bytes_{};
  File file_;
  uint64_t tokens_ = 0;
  uint8_t last_ = 0;  // bits of the byte that is not full
};

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

  /// Writes a document. `is_target` says of each id whether it is a target; all are if it is empty. Throws
  /// RuntimeFailure(cannot_write), and InvalidFile for more than 2^31 - 1 ids.
  void add(const std::vector<int32_t>& ids, const std::vector<bool>& is_target = {});
  /// Writes the index, forces the files to the disk and gives them their names. Without a token that is no target there
  /// is no mask, and an older one is removed. Throws RuntimeFailure(cannot_write).
  void finish();

  int64_t documents() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t tokens() const { return tokens_; }
  int64_t targets() const { return targets_; }

 private:
  void add_mask(const std::vector<bool>& is_target, size_t ids);

  std::string name_, bin_, idx_, mask_;
  TokenType type_;
  File bin_file_, idx_file_;
  std::vector<int32_t> lengths_{};
  int64_t tokens_ = 0, targets_ = 0;
  std::unique_ptr<MaskWriter> mask_writer_ = nullptr;
};

}  // namespace partita
