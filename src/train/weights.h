#pragma once
// Named arrays as one plain safetensors file.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"

namespace partita {

/// Replaces `path` as a whole: the file is there complete or not at all. Throws
/// RuntimeFailure(cannot_write).
void save_weights(const std::string& path, const std::vector<std::pair<std::string, Array>>& weights);

/// Throws RuntimeFailure(cannot_write) when nothing can be written in the folder of `path`.
void check_writable(const std::string& path);

/// Throws MissingFile, or InvalidFile naming the file, the tensor and the place; nothing is allocated
/// for a tensor before the whole header is known to be sound.
std::map<std::string, Array> load_weights(const std::string& path);

}  // namespace partita
