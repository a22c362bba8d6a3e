#pragma once
// The bytes of a text in pieces, so that none is moved when more are read.

#include <filesystem>

#include "frontend/data/dataset.h"

namespace partita {

/// The bytes of a text. All pieces but the last have the size of the first.
class TextBytes {
 public:
  TextBytes() = default;
  /// Joins the pieces in order. `file` is their origin for messages; "" = not from a file.
  explicit TextBytes(std::vector<std::vector<uint8_t>> pieces, std::string file = "");

  int64_t size() const { return size_; }
  /// Returns the byte at `offset`, which is not checked.
  uint8_t at(int64_t offset) const { return pieces_[piece_of(offset)][place_of(offset)]; }
  /// Writes the `count` bytes from `offset` on to `to`, as integers 0 to 255. The range is not checked.
  void copy(int64_t offset, int64_t count, int32_t* to) const;
  /// Keeps only the bytes [begin, end) and frees the pieces of others. Offsets then count from `begin`.
  void keep(int64_t begin, int64_t end);
  /// Returns the smallest and the largest of the first `count` bytes, each with its first offset in the file, where
  /// `count` is at least 1.
  IntegerRange integers(int64_t count) const;

 private:
  size_t piece_of(int64_t offset) const { return static_cast<size_t>((begin_ + offset) / piece_); }
  size_t place_of(int64_t offset) const { return static_cast<size_t>((begin_ + offset) % piece_); }

  std::vector<std::vector<uint8_t>> pieces_;
  int64_t piece_ = 1;  // bytes per piece
  int64_t begin_ = 0;  // in the first piece
  int64_t size_ = 0;
  std::string file_;
  int64_t first_ = 0;  // offset in the file
};

/// Returns the bytes of a whole file (plain, .gz or .xz), unpacked on the way. Throws MissingFile if it cannot be
/// opened, InvalidFile if it is damaged or no regular file, and as soon as it exceeds `limit` bytes.
TextBytes read_text_bytes(const std::filesystem::path& file, int64_t limit);

}  // namespace partita
