#pragma once
// The manifest of a checkpoint: manifest.json in its folder.

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/shares.h"

namespace partita {

inline constexpr const char* kManifestName = "manifest.json";

/// A box of a tensor in one of the files.
struct ManifestPiece {
  int64_t file = 0;
  Box box;
  uint64_t checksum = 0;  // one of ShardDigest::pieces
};

/// A tensor and the pieces that make it up.
struct ManifestTensor {
  std::string name;
  Type type;
  StateKind kind = StateKind::parameter;
  std::vector<int64_t> parts;         // number of tiles per dimension
  std::vector<ManifestPiece> pieces;  // each element is in exactly one
};

/// A file of a checkpoint.
struct ManifestFile {
  std::string name;  // in the manifest's folder
  int64_t bytes = 0;
  std::string header;  // ShardDigest::header
};

/// The content of manifest.json.
struct Manifest {
  int64_t sequence = 0;  // number of the checkpoint, in the order in which the folder's checkpoints were written
  TrainingPosition position;
  int64_t ranks = 1;
  /// How the states were sharded. `plan` is in the form that a training reads; "" if there is none.
  std::string mesh{}, plan{};
  int64_t seconds = 0;  // time of writing, since 1970
  std::vector<ManifestFile> files{};
  std::vector<ManifestTensor> tensors{};

  /// The first tensor of this name. Throws InvalidFile, which says that the checkpoint `path` lacks it, if there is
  /// none.
  const ManifestTensor& tensor(const std::string& name, const std::string& path) const;
  /// Returns the sum of the bytes of all tensors, each whole and counted once.
  int64_t tensor_bytes() const;
};

/// Returns "rank_N.safetensors", where N is `rank`.
std::string shard_name(int rank);

/// The tensors of states, in their order, with the tiles of choose_parts and without pieces.
std::vector<ManifestTensor> tensors_of(const std::vector<HeldState>& states);
/// Adds the file of a rank to the manifest, and to its tensors the pieces in that file, which has this digest. The
/// tensors exist already. Does nothing if there are no pieces.
void add_shard(Manifest& manifest, int rank, const std::vector<ShardPiece>& pieces, const ShardDigest& digest);

/// The manifest as JSON that ends with a checksum of itself. Throws InvalidArgument if a text in it is not UTF-8.
std::string print_manifest(const Manifest& manifest);

/// Parses what print_manifest returns. Throws InvalidFile, naming `path`, if the text is not JSON, the checksum, format
/// or version differs, a field is missing or bad, a name is used twice, or the pieces of a tensor overlap or leave
/// gaps.
Manifest parse_manifest(std::string_view text, const std::string& path);

/// Reads the manifest of a checkpoint's folder. Adds the length of the text to `bytes_read`, if given. Throws
/// MissingFile if it is no regular file or cannot be read, InvalidFile if it is larger than 1 GiB or refused by
/// parse_manifest.
Manifest read_manifest(const std::string& folder, int64_t* bytes_read = nullptr);

/// Position of a checkpoint among those of its folder.
struct ManifestOrder {
  int64_t sequence = 0, step = 0;
  auto operator<=>(const ManifestOrder&) const = default;
};
/// Returns the order of a manifest, without parsing its files and tensors. It is that of parse_manifest for every text
/// that the latter accepts. Throws InvalidFile, naming `path`, if the text is not JSON, the checksum, format or version
/// differs, or the sequence or step is missing or bad.
ManifestOrder parse_manifest_order(std::string_view text, const std::string& path);
/// Reads the order of the checkpoint in `folder` from its manifest. Throws MissingFile if that is no regular file or
/// cannot be read, InvalidFile if it is larger than 1 GiB or refused by parse_manifest_order.
ManifestOrder read_manifest_order(const std::string& folder);

}  // namespace partita
