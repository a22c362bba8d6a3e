#pragma once
// Data files, decompressed while they are read.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace partita {

class Unpacker;

/// Maximum ratio of unpacked to packed bytes: a deflate match stands for at most 258 bytes and takes at least 2 bits.
inline constexpr int64_t kMaxDeflateRatio = 1032;

/// A file read from front to back. `.gz` and `.xz` are decompressed, with their checksums verified. Memory follows what
/// the file really holds, never what it declares.
class PackedFile {
 public:
  /// Opens the file. Throws MissingFile if it cannot be opened, InvalidFile if it is not a regular file.
  explicit PackedFile(std::filesystem::path path);
  PackedFile& operator=(PackedFile&&) = delete;
  ~PackedFile();

  /// Returns the next `limit` unpacked bytes, or fewer at the end of the file. Throws InvalidFile if the file cannot be
  /// read, or if its packed data is truncated, corrupt or takes more than 256 MiB to unpack.
  std::vector<uint8_t> read(int64_t limit);
  /// Reads the next unpacked bytes into `out`. Returns their number, less than out.size() only at the end of the file.
  /// Throws InvalidFile if the file cannot be read, or if its packed data is truncated, corrupt or takes more than 256
  /// MiB to unpack.
  size_t read(std::span<uint8_t> out) { return unpack(out); }
  /// Returns an upper bound of the number of unpacked bytes, from the size on disk: that size itself for a plain file.
  int64_t max_bytes() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  size_t unpack(std::span<uint8_t> out);
  void refill();

  std::filesystem::path path_;
  std::ifstream stream_;
  std::unique_ptr<Unpacker> unpacker_;
  std::vector<uint8_t> buffer_;
  std::span<const uint8_t> input_;  // the part of buffer_ that is not unpacked yet
  int64_t packed_size_ = 0;
  int64_t packed_read_ = 0;
  bool last_ = false;   // whether buffer_ holds the end of the file
  bool ended_ = false;  // whether everything is unpacked
};

/// Returns the path in `directory` of the first of `name`, `name.gz` and `name.xz` that exists, or an empty path if
/// none does.
std::filesystem::path find_packed(const std::filesystem::path& directory, std::string_view name);

/// Returns the path in `directory` of the first of `name`, `name.gz` and `name.xz` that exists. Throws MissingFile if
/// none does.
std::filesystem::path require_packed(const std::filesystem::path& directory, std::string_view name);

/// Returns the contents of a file, decompressed if its name ends in `.gz` or `.xz`. Throws MissingFile if it cannot be
/// opened. Throws InvalidFile if it is not a regular file, as `PackedFile::read` does, and as soon as the contents
/// exceed `limit` bytes.
std::vector<uint8_t> read_file(const std::filesystem::path& path, int64_t limit);

}  // namespace partita
