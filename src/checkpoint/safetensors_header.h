#pragma once
// The JSON header of a safetensors file.

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

/// Padded by spaces to a multiple of 8 bytes.
std::string print_safetensors_header(const std::vector<TensorPlace>& places);

/// The tensors in the order of their places, which fill [0, data_bytes) without holes. Throws
/// InvalidFile naming `path`, the tensor, and what is wrong.
std::vector<TensorPlace> parse_safetensors_header(std::string_view text, int64_t data_bytes, const std::string& path);

}  // namespace partita
