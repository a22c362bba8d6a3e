#pragma once
// Reads a saved training or saved weights in either form: a folder that ranks wrote, or one file.

#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/reader.h"
#include "runtime/checkpoint/shares.h"

namespace partita {

class SavedStates {
 public:
  /// Opens the folder of a checkpoint, the newest whole checkpoint of a folder of checkpoints, or a safetensors file,
  /// all of which it reads. Throws MissingFile if the path cannot be opened or read, or the folder has no checkpoint;
  /// InvalidFile if the file or manifest is damaged or not one, or all checkpoints of the folder are.
  explicit SavedStates(const std::string& path);
  /// Reads the checkpoint of `reader`, whose manifest it shares.
  explicit SavedStates(const CheckpointReader& reader);

  const std::string& path() const { return path_; }
  const std::vector<SavedState>& entries() const { return entries_; }
  /// The training's position; none if there are only weights.
  const std::optional<TrainingPosition>& position() const { return position_; }
  const Metadata& metadata() const { return metadata_; }
  /// The manifest of a folder; nullptr for a file.
  const Manifest* manifest() const { return reader_ ? reader_->manifest().get() : nullptr; }
  /// Reads the elements of a box of tensor `name` to `to`, dense, in `dtype`, or returns the whole tensor in its own
  /// type. `name` is one of `entries`. For a file, which the constructor has read and checked, the box and `dtype` are
  /// not checked. For a folder, throws InvalidFile if the tensor's data are missing or damaged or its shape or type
  /// does not fit, MissingFile if this process has too many open files or too little memory.
  void read(const std::string& name, const Box& box, DType dtype, void* to);
  Array read(const std::string& name);

 private:
  void open_folder(std::unique_ptr<CheckpointReader> reader);
  void open_file();

  std::string path_;
  std::vector<SavedState> entries_;
  std::optional<TrainingPosition> position_;
  Metadata metadata_;
  std::unique_ptr<CheckpointReader> reader_;
  std::map<std::string, Array> tensors_;  // by name, if it is a file
};

/// Requires that `saved` is a training that one of `graph` goes on with: it has the order of rows of `now` (batch,
/// number of rows, and seed), and its tensors are the states of `graph`, all of them and no others, in the same shapes
/// and of the same kinds. Only floats may have another type, and the kinds of a checkpoint made from a file without
/// them are not known. Returns its position. Throws InvalidFile, naming the path, otherwise.
const TrainingPosition& require_resumable(const SavedStates& saved, const Graph& graph, const TrainingPosition& now);

/// Writes to `path` one safetensors file with the weights (parameters and statistics), or with `all` the whole training
/// in the form that --resume reads. Names are those of the network. Throws InvalidArgument if `all` is set and there is
/// no training, RuntimeFailure(cannot_write) if the file cannot be written, and as `read` does.
void merge_states(SavedStates& states, const std::string& path, bool all);

/// Writes all states to `path` as one file, in the form that its name says (`save_tensors`), floats as `dtype` if it is
/// given. A training stays one that --resume reads. Throws RuntimeFailure(cannot_write) if the file cannot be written,
/// and as `read` does.
void convert_states(SavedStates& states, const std::string& path, std::optional<DType> dtype);

/// Describes the checkpoint that split_states writes.
struct SplitTarget {
  int ranks = 1;
  std::vector<std::vector<StateShare>> shares{};  // per entry: which rank writes which box
  std::optional<DType> dtype{};                   // element type for floats; none: keep each type
  std::string mesh{}, plan{};                     // copied to the manifest
};

/// Writes a checkpoint of the same states and position to `folder`, for the ranks of `target`, and returns its path.
/// Replaces one of the same step. Throws InvalidArgument if there are only weights, RuntimeFailure(non_finite) for an
/// element that is NaN or infinite, RuntimeFailure(cannot_write) if a file cannot be written,
/// RuntimeFailure(out_of_memory) if a thread that writes cannot be started, MissingFile if `folder` cannot be read, and
/// as `read` does.
std::string split_states(SavedStates& states, const std::string& folder, const SplitTarget& target);

/// A difference between two saved states; one per tensor.
struct StateDifference {
  std::string name;
  std::string what;  // "f32[4] instead of f32[5]", "only in A", "largest difference 0.5 at element 3"
};
/// Compares the tensors of two saved states by name and returns, with a text for people, those that are in only one of
/// them or differ in type or bits. Those in `first` come first, in its order; then those only in `second`, by name.
/// Throws as `read` does.
std::vector<StateDifference> compare_states(SavedStates& first, SavedStates& second);

/// Reads everything, which checks it. Throws as `read` does: InvalidFile names the first bad tensor and its file.
void verify_states(SavedStates& states);

}  // namespace partita
