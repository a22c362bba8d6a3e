#pragma once
// Reads boxes of the tensors of one or several safetensors files, such as the shards of another program.

#include <map>
#include <vector>

#include "ir/sharding/box_runs.h"
#include "runtime/checkpoint/open_weights.h"

namespace partita {

class TensorFiles {
 public:
  /// Opens the files `paths`, which stay open, and parses their headers. Throws as open_weights does, and InvalidFile
  /// if a file is no safetensors file or two have a tensor of the same name.
  explicit TensorFiles(const std::vector<std::string>& paths);

  /// Types of all tensors, by name.
  const std::map<std::string, Type>& types() const { return types_; }
  /// Path of the file with the tensor `name`, which is one of `types`.
  const std::string& path_of(const std::string& name) const { return paths_[places_.at(name).file]; }
  /// Reads the elements of the box of the tensor `name` to `to`, dense, in `dtype`. Reads no other bytes. Threads may
  /// call it at once. `name` is one of `types`, and the box is inside it. Throws InvalidFile if the bytes cannot be
  /// read or only one of the types is a float.
  void read(const std::string& name, const Box& box, DType dtype, void* to) const;
  /// Returns a digest of the names, types and places of all tensors, and of some bytes of each. Throws InvalidFile if
  /// they cannot be read.
  uint64_t digest() const;
  /// Returns the first bytes of a tensor, at most 4096, as they are in the file. `name` is one of `types`. Throws
  /// InvalidFile if they cannot be read.
  std::vector<char> first_bytes(const std::string& name) const;

 private:
  struct Place {
    size_t file = 0;
    int64_t begin = 0;  // offset in the file
  };

  std::vector<std::string> paths_;
  std::vector<File> files_;
  std::map<std::string, Type> types_;
  std::map<std::string, Place> places_;
};

}  // namespace partita
