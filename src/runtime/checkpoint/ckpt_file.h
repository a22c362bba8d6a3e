#pragma once
// Reads and writes checkpoints of MindSpore (.ckpt; the format is in ckpt_index.h).

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/weights.h"

namespace partita {

/// Maximum number of bytes of the elements in one value, as MindSpore cuts parameters.
inline constexpr int64_t kCkptPartBytes = int64_t{512} << 20;

/// Reads a whole file, open at its begin, of `bytes` bytes. Allocates memory for elements only after all of the file's
/// structure was found valid. Strings are texts of the metadata (kTextKey). Checksums that the file has must match.
/// Throws InvalidFile, naming the file, the parameter and the offset, as index_ckpt does and for damage.
WeightsFile read_ckpt(int file, int64_t bytes, const std::string& path);

/// Reads only the metadata and the strings. Throws as `read_ckpt` does, but not for damage of elements.
Metadata read_ckpt_metadata(int file, int64_t bytes, const std::string& path);

/// Writes a file as save_tensors does, in the order of `types`, with at most `part_bytes` bytes of elements in a value.
/// `crc32`: it ends with the checksum that MindSpore checks on request. Throws as save_tensors does.
void write_ckpt(
    const std::string& path, const std::vector<std::pair<std::string, Type>>& types,
    const std::function<void(const std::string& name, const std::function<void(const Array&)>& write)>& give,
    const Metadata& metadata, bool crc32, int64_t part_bytes = kCkptPartBytes);

}  // namespace partita
