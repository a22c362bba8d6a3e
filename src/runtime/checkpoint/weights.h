#pragma once
// Reads and writes named arrays as one file: safetensors, or a checkpoint of MindSpore. Files are known by their
// content when they are read, and by their name when they are written: one that ends in .ckpt is a checkpoint of
// MindSpore.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "runtime/checkpoint/safetensors_header.h"

namespace partita {

/// Begins the keys of metadata that are strings of the user, as MindSpore's checkpoints have them next to parameters.
inline constexpr const char* kTextKey = "text:";

/// Writes arrays to `path`, which is replaced as a whole: the file is complete or does not exist. A symbolic link
/// stays; the file it leads to is replaced and keeps its permissions. Until it is complete, the new file is called
/// PATH.tmp-PROCESS-XXXXXX. Such files of killed processes are removed. Throws RuntimeFailure(cannot_write) if it
/// cannot be written, and for a folder, a device or a pipe, InvalidArgument if a name or text of metadata is not UTF-8.
/// `crc32`: a checkpoint of MindSpore ends with the checksum that MindSpore checks on request.
void save_weights(const std::string& path, const std::vector<std::pair<std::string, Array>>& weights,
                  const Metadata& metadata = {}, bool crc32 = false);

/// Writes a file as save_weights does. `make` is called once for each tensor, in the order of the file, and returns it
/// in the type given for it. Throws as save_weights does, what `make` throws, and InternalError if it returns another
/// type.
void save_tensors(const std::string& path, const std::vector<std::pair<std::string, Type>>& types,
                  const std::function<Array(const std::string& name)>& make, const Metadata& metadata = {});

/// Writes a text file, replacing `path` as save_weights does. Throws RuntimeFailure(cannot_write) as save_weights does.
void save_text(const std::string& path, std::string_view text);
/// Writes several texts, given as pairs of path and text. All are on the disk under temporary names before the first
/// path is replaced. Throws RuntimeFailure(cannot_write) if one cannot be written. All paths then have their former
/// contents, or no file, as before; those that cannot be read keep the new one. Not atomic if the process is killed.
void save_texts(const std::vector<std::pair<std::string, std::string>>& texts);

/// Checks that save_weights could write `path`. Adds nothing to the file system, but removes the temporary files of
/// killed processes. Throws RuntimeFailure(cannot_write) otherwise.
void check_writable(const std::string& path);

struct WeightsFile {
  std::map<std::string, Array> tensors;
  Metadata metadata;     // without the checksum entry
  bool is_ckpt = false;  // whether it is a checkpoint of MindSpore
};
/// Reads a whole file. Memory for tensors is allocated only after the whole header was found valid. A file of
/// save_weights has checksums, which must match; files of other writers need none. Throws MissingFile if it cannot be
/// opened, InvalidFile, naming the file, the tensor and the offset, if it is neither a safetensors file nor a
/// checkpoint of MindSpore, is truncated or damaged.
WeightsFile read_weights_file(const std::string& path);
/// Reads only the header and returns its metadata, without the checksums, which are not verified. Throws as
/// read_weights_file does, for a truncated file too, but not for other damage to the tensors' data.
Metadata read_weights_metadata(const std::string& path);
/// Reads a whole file and returns its tensors by name. Throws as read_weights_file does.
std::map<std::string, Array> load_weights(const std::string& path);

}  // namespace partita
