#pragma once
// Writes and parses the JSON header of a safetensors file.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"

namespace partita {

inline constexpr int64_t kMaxHeaderBytes = 100'000'000;

struct TensorPlace {
  std::string name;
  Type type;
  int64_t begin = 0, end = 0;  // bytes after the header
};

/// Texts of a file besides its tensors, by key.
using Metadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  std::vector<TensorPlace> places;
  Metadata metadata;
};

/// Returns the JSON of a header with these tensors and metadata, padded with spaces to a multiple of 8 bytes. Throws
/// InvalidArgument if a name or text is not UTF-8.
std::string print_safetensors_header(const std::vector<TensorPlace>& places, const Metadata& metadata = {});

/// Parses a header, after which the file has `data_bytes` bytes. Returns the tensors in the order of their places,
/// which fill [0, data_bytes) without holes, and the metadata. Throws InvalidFile, naming `path` and the tensor, if the
/// text is not JSON of this form, a name appears twice, a field is missing, unknown or bad, there are too many tensors,
/// or the places have holes, overlap or another size.
SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t data_bytes, const std::string& path);

}  // namespace partita
