#pragma once
// Reads boxes of the tensors of a checkpoint, whatever ranks wrote them: only what lies in the box is read.

#include <memory>

#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/shard_file.h"

namespace partita {

class CheckpointReader {
 public:
  /// Of the folder of one checkpoint. For one thread at a time. Throws as read_manifest does.
  explicit CheckpointReader(const std::string& path);
  /// With a manifest of it that is there, as of another reader.
  CheckpointReader(std::string path, std::shared_ptr<const Manifest> manifest);

  const std::string& path() const { return path_; }
  const std::shared_ptr<const Manifest>& manifest() const { return manifest_; }

  /// The elements of a box of a tensor, dense, in `dtype`: floats are converted, rounded to the nearest where `dtype`
  /// cannot hold them. Throws InvalidFile, naming file and tensor, for what is missing or damaged, for another shape,
  /// and for integers in place of floats.
  void read(const std::string& name, const Box& box, DType dtype, void* to);
  /// The whole tensor in its own type.
  Array read(const std::string& name);
  /// Of all files: how much was read so far, headers and the manifest included.
  int64_t bytes_read() const { return bytes_read_; }

 private:
  const ManifestTensor& tensor(const std::string& name) const;
  ShardFileReader& file(int64_t number, const std::string& name);

  std::string path_;
  int64_t bytes_read_ = 0;
  std::shared_ptr<const Manifest> manifest_;
  std::map<std::string, const ManifestTensor*> tensors_;
  std::map<int64_t, ShardFileReader> files_;
};

}  // namespace partita
