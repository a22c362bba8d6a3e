#pragma once
// Reads boxes of the tensors of a checkpoint, whichever ranks wrote them. Reads only the tiles that overlap the box.

#include <memory>

#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/shard_file.h"

namespace partita {

class CheckpointReader {
 public:
  /// Opens the folder of one checkpoint. Use it from one thread at a time. Throws MissingFile if the manifest is no
  /// regular file or cannot be read, InvalidFile if it is too large or damaged.
  explicit CheckpointReader(const std::string& path);
  /// Takes the folder with its manifest. Opens no file yet.
  CheckpointReader(std::string path, std::shared_ptr<const Manifest> manifest);
  /// Makes a reader of the same checkpoint for another thread. The two share the files that they have open.
  CheckpointReader(const CheckpointReader& other);
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  const std::string& path() const { return path_; }
  const std::shared_ptr<const Manifest>& manifest() const { return manifest_; }

  /// Writes the elements of a box of a tensor to `to`, dense, in `dtype`. Floats are converted, rounded to nearest if
  /// `dtype` cannot represent them. Throws InvalidFile, naming the path and the tensor, if there is no such tensor, its
  /// data are missing or damaged, its shape is not the one around the box, or the types differ and are not both floats;
  /// MissingFile if this process has too many open files or too little memory.
  void read(const std::string& name, const Box& box, DType dtype, void* to);
  /// Returns the whole tensor in its own type. Throws InvalidFile, naming the path and the tensor, if there is no such
  /// tensor or its data are missing or damaged; MissingFile if this process has too many open files or too little
  /// memory.
  Array read(const std::string& name);
  /// Closes all files, also those of readers that were made of this one. A later `read` opens them again.
  void close_files() const { open_files_->close(); }
  /// Bytes read so far from all files, headers and the manifest included.
  int64_t bytes_read() const { return bytes_read_; }

 private:
  const ManifestTensor& tensor(const std::string& name) const;
  ShardFileReader& file(int64_t number, const std::string& name);
  /// The pieces in file number `number`, in the order of the tensors.
  std::vector<ShardPiece> pieces_of(int64_t number);

  std::string path_;
  int64_t bytes_read_ = 0;
  std::shared_ptr<const Manifest> manifest_;
  std::map<std::string, const ManifestTensor*> tensors_;
  std::vector<std::vector<std::pair<const ManifestTensor*, size_t>>> pieces_;  // per file; filled by the first read
  std::shared_ptr<OpenFiles> open_files_;
  std::map<int64_t, ShardFileReader> files_;
};

}  // namespace partita
