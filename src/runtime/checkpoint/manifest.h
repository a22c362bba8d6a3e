#pragma once
// What a checkpoint consists of: manifest.json of its folder.

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/shares.h"

namespace partita {

inline constexpr const char* kManifestName = "manifest.json";

/// A box of a tensor in one of the files.
struct ManifestPiece {
  int64_t file = 0;
  Box box;
  uint64_t checksum = 0;  // as ShardDigest has it
};

struct ManifestTensor {
  std::string name;
  Type type;
  StateKind kind = StateKind::parameter;
  std::vector<int64_t> parts;         // its grid of tiles
  std::vector<ManifestPiece> pieces;  // each element is in one of them
};

struct ManifestFile {
  std::string name;  // in the folder of the manifest
  int64_t bytes = 0;
  std::string header;  // as ShardDigest has it
};

struct Manifest {
  int64_t sequence = 0;  // counts the checkpoints of a folder as they were written
  TrainingPosition position;
  double losses = 0;  // the sum of those of the epoch so far
  int64_t losses_steps = 0;
  std::map<std::string, std::string> callbacks{};  // what callbacks keep, by their kind
  int64_t ranks = 1;
  std::string mesh{}, plan{};  // how the states were cut; `plan`: as a training takes it, "" where there is none
  int64_t seconds = 0;         // since 1970, when it was written
  std::vector<ManifestFile> files{};
  std::vector<ManifestTensor> tensors{};

  /// Throws InvalidFile naming `path`.
  const ManifestTensor& tensor(const std::string& name, const std::string& path) const;
  int64_t tensor_bytes() const;
  /// What a file has, in the order of the tensors.
  std::vector<ShardPiece> pieces_of(int64_t file) const;
};

/// "rank_N.safetensors".
std::string shard_name(int rank);

/// The tensors of states, as yet in no file.
std::vector<ManifestTensor> tensors_of(const std::vector<HeldState>& states);
/// Adds the file of a rank with these pieces of the manifest's tensors, as its writer says; none where there are none.
void add_shard(Manifest& manifest, int rank, const std::vector<ShardPiece>& pieces, const ShardDigest& digest);

/// Throws InvalidFile, naming `path`, unless the tensors are the states of `graph`; floats may be of another type.
void require_same_states(const Manifest& manifest, const Graph& graph, const std::string& path);

/// JSON that ends with a checksum of itself.
std::string print_manifest(const Manifest& manifest);

/// Throws InvalidFile naming `path`: the checksum is another, it is of another version, the pieces of a tensor do not
/// make it up.
Manifest parse_manifest(std::string_view text, const std::string& path);

/// Of a folder with one checkpoint. Throws MissingFile and InvalidFile. The length of the text is added to
/// `bytes_read`.
Manifest read_manifest(const std::string& folder, int64_t* bytes_read = nullptr);

/// Where a checkpoint stands among those of its folder.
struct ManifestOrder {
  int64_t sequence = 0, step = 0;
  auto operator<=>(const ManifestOrder&) const = default;
};
/// Of a text with the right checksum; its files and tensors are not looked at. Throws InvalidFile naming `path`. What
/// parse_manifest accepts has the order that this gives.
ManifestOrder parse_manifest_order(std::string_view text, const std::string& path);
/// Of the checkpoint in `folder`. Throws MissingFile and InvalidFile.
ManifestOrder read_manifest_order(const std::string& folder);

/// "parameter", "statistic", "optimizer" or "counter"; none for another word.
std::optional<StateKind> parse_state_kind(std::string_view name);

}  // namespace partita
