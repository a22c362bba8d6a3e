#pragma once
// A saved training or saved weights, whatever form they have: a folder that ranks wrote, or one file.

#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/reader.h"
#include "runtime/checkpoint/shares.h"

namespace partita {

class SavedStates {
 public:
  struct Entry {
    std::string name;
    Type type;
    StateKind kind = StateKind::parameter;
  };

  /// Opens the folder of a checkpoint, a folder with checkpoints (its newest), or a safetensors file. Throws
  /// MissingFile and InvalidFile.
  explicit SavedStates(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<Entry>& entries() const { return entries_; }
  /// None: weights alone.
  const std::optional<TrainingPosition>& position() const { return position_; }
  const Metadata& metadata() const { return metadata_; }
  /// Of a folder; nullptr for a file.
  const Manifest* manifest() const { return reader_ ? reader_->manifest().get() : nullptr; }
  /// Elements of a box, as CheckpointReader::read.
  void read(const std::string& name, const Box& box, DType dtype, void* to);
  Array read(const std::string& name);

 private:
  void open_file();

  std::string path_;
  std::vector<Entry> entries_;
  std::optional<TrainingPosition> position_;
  Metadata metadata_;
  std::unique_ptr<CheckpointReader> reader_;
  std::map<std::string, Array> tensors_;  // of a file
};

/// One file with the weights, or with the whole training as --resume reads it, in the names of the network.
void merge_states(SavedStates& states, const std::string& path, bool all);

/// In whose files states are written anew.
struct SplitTarget {
  int ranks = 1;
  std::vector<std::vector<StateShare>> shares{};  // of each entry what each rank writes
  std::optional<DType> dtype{};                   // of floats; none: their own
  std::string mesh{}, plan{};                     // of the manifest
};

/// A checkpoint of the same states in `folder`. Gives its path. Throws InvalidArgument for weights alone.
std::string split_states(SavedStates& states, const std::string& folder, const SplitTarget& target);

/// What two of them do not have alike, a line for each tensor.
struct StateDifference {
  std::string name;
  std::string what;  // "f32[4] instead of f32[5]", "only in A", "largest difference 0.5 at element 3"
};
std::vector<StateDifference> compare_states(SavedStates& first, SavedStates& second);

/// Reads everything. Throws InvalidFile that names the first bad tensor and its file.
void verify_states(SavedStates& states);

}  // namespace partita
