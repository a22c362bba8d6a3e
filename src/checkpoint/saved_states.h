#pragma once
// A saved training or saved weights, whatever form they have: a folder that ranks wrote, or one file.

#include "checkpoint/folder.h"
#include "checkpoint/reader.h"
#include "checkpoint/shares.h"

namespace partita {

class SavedStates {
 public:
  struct Entry {
    std::string name;
    Type type;
    StateKind kind = StateKind::parameter;
    bool is_weight() const { return kind == StateKind::parameter || kind == StateKind::statistic; }
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

/// A checkpoint of the same states in `folder`, in the files of `ranks` ranks. `shares`: what each of them writes of
/// each entry. Floats are written as `dtype` where one is given. Gives the path of the checkpoint. Throws
/// InvalidArgument for weights alone.
std::string split_states(SavedStates& states, const std::string& folder, int ranks,
                         const std::vector<std::vector<StateShare>>& shares, std::optional<DType> dtype);

/// What two of them do not have alike, a line for each tensor.
struct StateDifference {
  std::string name;
  std::string what;  // "f32[4] instead of f32[5]", "only in A", "largest difference 0.5 at element 3"
};
std::vector<StateDifference> compare_states(SavedStates& first, SavedStates& second);

/// Reads everything. Throws InvalidFile that names the first bad tensor and its file.
void verify_states(SavedStates& states);

}  // namespace partita
