#pragma once
// Files of data, unpacked while they are read.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

class Unpacker;

/// Of unpacked to packed bytes: a match of deflate stands for at most 258 bytes and takes no fewer than 2 bits.
inline constexpr int64_t kMaxDeflateRatio = 1032;

/// A file read from front to back; `.gz` and `.xz` are unpacked, checksums included.
/// Memory follows what the file really holds, never what it declares.
class PackedFile {
 public:
  /// Throws MissingFile when the file cannot be opened, InvalidFile when it is not a regular one.
  explicit PackedFile(std::filesystem::path path);
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;
  ~PackedFile();

  /// The next bytes, `limit` of them unless the file ends before. Throws InvalidFile when the packed
  /// data is cut or corrupt.
  std::vector<uint8_t> read(int64_t limit);
  /// The same into `out`; gives how many bytes came, fewer than it takes only at the end.
  size_t read(std::span<uint8_t> out) { return unpack(out); }
  /// Bytes that the whole file can give at most, unpacked, by its size on the disk.
  int64_t most_bytes() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  size_t unpack(std::span<uint8_t> out);
  void refill();

  std::filesystem::path path_;
  std::ifstream stream_;
  std::unique_ptr<Unpacker> unpacker_;
  std::vector<uint8_t> buffer_;
  std::span<const uint8_t> input_;  // the part of buffer_ not yet unpacked
  int64_t packed_size_ = 0;
  int64_t packed_read_ = 0;
  bool last_ = false;   // buffer_ holds the end of the file
  bool ended_ = false;  // everything is unpacked
};

/// `name`, `name.gz` or `name.xz` in `directory`, whichever is there first; empty when none is.
std::filesystem::path find_packed(const std::filesystem::path& directory, std::string_view name);

/// As find_packed, but throws MissingFile when none is there.
std::filesystem::path require_packed(const std::filesystem::path& directory, std::string_view name);

/// The whole file, unpacked; throws InvalidFile as soon as that is more than `limit` bytes.
std::vector<uint8_t> read_file(const std::filesystem::path& path, int64_t limit);

}  // namespace partita
