#include "runtime/checkpoint/reader.h"

namespace partita {

namespace {

std::shared_ptr<OpenFiles> files_of(const Manifest& manifest) {
  return std::make_shared<OpenFiles>(static_cast<int64_t>(manifest.files.size()));
}

std::map<std::string, const ManifestTensor*> tensors_of(const Manifest& manifest) {
  std::map<std::string, const ManifestTensor*> tensors;
  for (const ManifestTensor& one : manifest.tensors) tensors.emplace(one.name, &one);
  return tensors;
}

}  // namespace

CheckpointReader::CheckpointReader(const std::string& path) : path_(path) {
  manifest_ = std::make_shared<const Manifest>(read_manifest(path, &bytes_read_));
  tensors_ = tensors_of(*manifest_);
  open_files_ = files_of(*manifest_);
}

CheckpointReader::CheckpointReader(std::string path, std::shared_ptr<const Manifest> manifest)
    : path_(std::move(path)),
      manifest_(std::move(manifest)),
      tensors_(tensors_of(*manifest_)),
      open_files_(files_of(*manifest_)) {}

CheckpointReader::CheckpointReader(const CheckpointReader& other)
    : path_(other.path_), manifest_(other.manifest_), tensors_(other.tensors_), open_files_(other.open_files_) {}

std::vector<ShardPiece> CheckpointReader::pieces_of(int64_t number) {
  if (pieces_.empty()) {
    pieces_.resize(manifest_->files.size());
    for (const ManifestTensor& tensor : manifest_->tensors) {
      for (size_t i = 0; i < tensor.pieces.size(); ++i) {
        pieces_[static_cast<size_t>(tensor.pieces[i].file)].emplace_back(&tensor, i);
      }
    }
  }
  std::vector<ShardPiece> pieces;
  for (const auto& [tensor, i] : pieces_[static_cast<size_t>(number)]) {
    pieces.push_back({tensor->name, tensor->type, tensor->parts, tensor->pieces[i].box});
  }
  return pieces;
}

const ManifestTensor& CheckpointReader::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found != tensors_.end() ? *found->second : manifest_->tensor(name, path_);
}

ShardFileReader& CheckpointReader::file(int64_t number, const std::string& name) {
  const auto open = files_.find(number);
  if (open != files_.end()) return open->second;
  const ManifestFile& file = manifest_->files[static_cast<size_t>(number)];
  const std::string path = path_ + "/" + file.name;
  try {
    return files_.try_emplace(number, path, file.bytes, file.header, pieces_of(number), *open_files_, bytes_read_)
        .first->second;
  } catch (const InvalidFile& error) {
    throw InvalidFile("{} (for tensor '{}')", error.what(), name);
  }
}

void CheckpointReader::read(const std::string& name, const Box& box, DType dtype, void* to) {
  const ManifestTensor& one = tensor(name);
  Shape shape;
  for (const Range& range : box) shape.push_back(range.size);
  const bool fits = dtype == one.type.dtype || (is_float(dtype) && is_float(one.type.dtype));
  if (shape != one.type.shape || !fits) {
    throw InvalidFile("[checkpoint] {}: tensor '{}' does not fit, got {}, expected {}", path_, name, print(one.type),
                      print(Type{dtype, shape}));
  }
  for (const ManifestPiece& piece : one.pieces) {
    const std::optional<Box> part = common_box(piece.box, box);
    if (!part || elements_of(*part) == 0) continue;
    ShardFileReader& from = file(piece.file, name);
    if (from.checksum(name) != piece.checksum) {
      throw InvalidFile("[checkpoint] {}/{}: tensor '{}' is not the one of the manifest", path_,
                        manifest_->files[static_cast<size_t>(piece.file)].name, name);
    }
    from.read(name, *part, box, dtype, to);
  }
}

Array CheckpointReader::read(const std::string& name) {
  const Type& type = tensor(name).type;
  Array whole(type);
  read(name, whole_box(type.shape), type.dtype, whole.data());
  return whole;
}

}  // namespace partita
