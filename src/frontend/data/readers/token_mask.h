#pragma once
// Masks of token ids: which tokens a model learns to predict.

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "frontend/data/readers/random_access_file.h"

namespace partita {

/// A mask begins with this text, the version (u64) and the number of ids (u64), little-endian. Bit i % 8 of byte i / 8
/// after them is 1 if id i is a target. The bits that are left over are 0.
inline constexpr std::string_view kMaskMagic = "PARTMASK";
inline constexpr uint64_t kMaskVersion = 1;
inline constexpr int64_t kMaskHeader = 24;  // bytes

/// Returns the path of the mask of a file of ids: NAME.mask for NAME.bin, NAME.idx, NAME.u16, NAME.u32 or NAME.npy.
std::filesystem::path mask_path(const std::filesystem::path& ids);

/// Whether a file begins as a mask does. False if it cannot be read.
bool is_mask(const std::filesystem::path& path);

/// The mask of a file of ids, read in place.
class TokenMask {
 public:
  /// Opens the mask of a file with `tokens` ids. Throws MissingFile if it cannot be opened, InvalidFile if it is no
  /// mask, is damaged, is that of another number of ids, or has no target.
  TokenMask(const std::filesystem::path& path, int64_t tokens);

  /// Writes for `count` ids from `first` on whether each is a target. The range is not checked. Thread-safe. Throws
  /// InvalidFile if the file became shorter.
  void copy(int64_t first, int64_t count, bool* to) const;

 private:
  /// Reads up to the first target.
  bool has_target(int64_t tokens) const;

  RandomAccessFile file_;
};

}  // namespace partita
