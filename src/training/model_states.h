#pragma once
// States of a model between its calls: parameters, statistics, optimizer states, the step.

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/kinds.h"
#include "runtime/checkpoint/states.h"
#include "training/model_job.h"

namespace partita {

class WeightSource;

class ModelStates {
 public:
  /// Loads weights from a safetensors file, the folder of a checkpoint, the newest checkpoint of a folder, or a folder
  /// of Hugging Face; with `averages`, the averages of a checkpoint as weights. If there are states, the weights are
  /// checked and take effect at once, else in the next `prepare`. Throws, at once or in that call, MissingFile if the
  /// file cannot be opened or the folder has no checkpoint, and InvalidFile if it is damaged or does not fit the
  /// network.
  /// `adapters`: a file with additions to products (LoRA) to load, too; "": they stay as they are.
  void load(const std::string& path, bool averages = false, const std::string& adapters = "");
  /// Replaces states by name, and adds those that are not there. The next `prepare` that makes states checks their
  /// types.
  void assign(States values);
  /// Writes the weights (with `files.save_averages`, the averages), with the configuration as metadata, in the first
  /// process only. Throws InvalidArgument if there are no states, the ranks of a training hold them, or loaded weights
  /// wait for `prepare`; RuntimeFailure(non_finite) for a weight that is not finite, and RuntimeFailure(cannot_write)
  /// if the file cannot be written.
  void save(const ModelJob& job, const std::string& path) const;
  /// Writes all states after the last training, in the first process only. Throws as `save` does,
  /// RuntimeFailure(non_finite) for any state, and InvalidArgument if there was no training.
  void save_checkpoint(const ModelJob& job, const std::string& path) const;

  /// Returns all states as a whole, by name, as the model's last call left them. Empty before the first call that
  /// creates them, unless `assign` gave some, and after `release`.
  const States& all() const { return states_; }
  States& all() { return states_; }

  /// Returns the states of the last program with the averages in place of their parameters; none if there are none.
  std::optional<States> averaged() const;

  /// Creates the states of `graph` that are missing, checks the types of the others, and takes the weights that wait to
  /// be loaded. `makes_them` false: does none of this and drops such weights, since the ranks of a training create or
  /// read their own states. `resumes`: a checkpoint waits to be read. Throws InvalidArgument if an earlier training did
  /// not keep its states and nothing replaces them, and if a state has another type. Throws what `load` throws.
  void prepare(const Graph& graph, uint64_t seed, bool makes_them, bool resumes);
  /// Whether the seed alone determines the states: there are none, and no weights wait to be loaded.
  bool are_fresh() const { return states_.empty() && loaded_path_.empty(); }
  /// Whether ranks read their parts of the weights that wait to be loaded from `source`, and the seed determines all
  /// else: there are no states.
  bool have_source() const;
  /// Opens the weights that wait, for `graph`. Throws what `load` throws.
  std::unique_ptr<WeightSource> source(const Graph& graph) const;
  /// Takes the states of a training that ended at `position`, in place of those of the same names. Throws
  /// RuntimeFailure(non_finite) for a weight that is not finite; nothing is taken then.
  void take(States&& states, TrainingPosition position);
  /// Drops the states, after a training that did not keep them. The next `prepare` refuses to create new ones.
  void release();
  /// Restores the states after a failed training: adds the initial values of missing ones if `makes_them`. A model that
  /// still has none is as if no call had created them.
  void restore(const Graph& graph, uint64_t seed, bool makes_them);

  /// State that is put back after a failed training.
  struct Waiting {
    std::string loaded_path;
    bool is_released = false;
  };
  Waiting waiting() const { return {loaded_path_, is_released_}; }
  void put_back(const Waiting& before);

 private:
  void require_some() const;
  /// Takes the weights in `path` and the additions of `load`. Throws what `load` throws.
  void take_loaded(const Graph& graph, const std::string& path);

  States states_;
  Graph known_{};       // states of the last program; no nodes
  StateKinds kinds_{};  // kinds of the states of all programs
  std::vector<std::string> weight_names_;
  std::string loaded_path_, adapters_path_;
  bool loads_averages_ = false;
  TrainingPosition position_;  // after the last training
  bool is_released_ = false;   // dropped by a training that did not keep them
};

}  // namespace partita
