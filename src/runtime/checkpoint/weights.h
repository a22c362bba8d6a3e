#pragma once
// Named arrays as one plain safetensors file.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "runtime/checkpoint/safetensors_header.h"

namespace partita {

/// Replaces `path` as a whole: the file is there complete or not at all. A symbolic link stays, the file that it
/// leads to is replaced and keeps its permissions. Until it is complete it is PATH.tmp-PROCESS-XXXXXX; such files of
/// processes that were killed are removed. Throws RuntimeFailure(cannot_write), also for a device or a pipe.
void save_weights(const std::string& path, const std::vector<std::pair<std::string, Array>>& weights,
                  const Metadata& metadata = {});

/// The same with tensors that are made one by one, in an order of its own.
void save_tensors(const std::string& path, const std::vector<std::pair<std::string, Type>>& types,
                  const std::function<Array(const std::string& name)>& make, const Metadata& metadata = {});

/// A text in the same way.
void save_text(const std::string& path, std::string_view text);
/// Texts by their paths, all of them or none.
void save_texts(const std::vector<std::pair<std::string, std::string>>& texts);

/// Throws RuntimeFailure(cannot_write) when save_weights could not write `path`; leaves nothing behind.
void check_writable(const std::string& path);

struct WeightsFile {
  std::map<std::string, Array> tensors;
  Metadata metadata;  // without the checksums
};
/// Throws MissingFile, or InvalidFile naming the file, the tensor and the place; nothing is allocated
/// for a tensor before the whole header is known to be sound. A file that save_weights wrote has checksums of each
/// tensor and of the header, which must hold; files of others need none.
WeightsFile read_weights_file(const std::string& path);
/// The metadata alone, without the checksums, which are not checked. Throws as read_weights_file does.
Metadata read_weights_metadata(const std::string& path);
/// The tensors of the file.
std::map<std::string, Array> load_weights(const std::string& path);

}  // namespace partita
