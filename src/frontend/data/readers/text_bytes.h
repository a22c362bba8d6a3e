#pragma once
// The bytes of a text, as a file is read: none of them is moved when more come.

#include <filesystem>

#include "frontend/data/dataset.h"

namespace partita {

/// Bytes of a text, in pieces that are as long as the first one, but for the last.
class TextBytes {
 public:
  TextBytes() = default;
  /// `file`: where they come from; "": not from a file.
  explicit TextBytes(std::vector<std::vector<uint8_t>> pieces, std::string file = "");

  int64_t size() const { return size_; }
  uint8_t at(int64_t offset) const { return pieces_[piece_of(offset)][place_of(offset)]; }
  /// `count` bytes from `offset` on as numbers.
  void copy(int64_t offset, int64_t count, int32_t* to) const;
  /// Leaves the bytes [begin, end) and frees the pieces of others.
  void keep(int64_t begin, int64_t end);
  /// The least and the greatest of the first `count` bytes, of which there is one, by a histogram.
  IntegerRange integers(int64_t count) const;

 private:
  size_t piece_of(int64_t offset) const { return static_cast<size_t>((begin_ + offset) / piece_); }
  size_t place_of(int64_t offset) const { return static_cast<size_t>((begin_ + offset) % piece_); }

  std::vector<std::vector<uint8_t>> pieces_;
  int64_t piece_ = 1;  // bytes of one
  int64_t begin_ = 0;  // in the first piece
  int64_t size_ = 0;
  std::string file_;
  int64_t first_ = 0;  // of the file
};

/// The whole file (plain, .gz or .xz), unpacked while it is read. Throws MissingFile, and InvalidFile for damaged files
/// and as soon as there are more than `limit` bytes.
TextBytes read_text_bytes(const std::filesystem::path& file, int64_t limit);

}  // namespace partita
