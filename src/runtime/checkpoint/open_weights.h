#pragma once
// Opens files of weights, and knows them by their content.

#include "base/files.h"
#include "runtime/checkpoint/safetensors_header.h"

namespace partita {

/// Ends the names of checkpoints of MindSpore.
inline constexpr std::string_view kCkptEnding = ".ckpt";

struct OpenWeights {
  File file;
  int64_t bytes = 0;  // length of the file
  bool is_ckpt = false;
  SafetensorsHeader header{};  // header of a safetensors file
  int64_t data_begin = 0;      // in bytes from the start of the file
};

/// Opens a file and parses its header, if it is a safetensors file. Throws MissingFile if it cannot be opened,
/// InvalidFile if it is not a regular file, is too short, or its header is not valid; for a file of another system,
/// with how it is converted.
OpenWeights open_weights(const std::string& path);

}  // namespace partita
