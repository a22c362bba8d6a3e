#pragma once
// The states of a model between its calls: parameters, statistics, optimizer states, the step.

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/states.h"
#include "training/model_job.h"

namespace partita {

class ModelStates {
 public:
  /// Weights of a safetensors file, or of a folder of a checkpoint. They take effect, and are checked, at once where
  /// there are states, else when the next call makes them.
  void load(const std::string& path);
  /// Replaces states by name, and adds those that are not there.
  void assign(States values);
  /// Writes the weights, and the configuration as metadata. Throws InvalidArgument while there are no states.
  void save(const ModelJob& job, const std::string& path) const;
  /// Writes all states after the last training. Throws InvalidArgument when there was none.
  void save_checkpoint(const ModelJob& job, const std::string& path) const;

  /// All states as a whole by name, as the last call left them; none before the first.
  const States& all() const { return states_; }
  States& all() { return states_; }

  /// Makes the states that `graph` needs and are not there, checks the others, and takes the weights that wait.
  /// `makes_them` false: the ranks of a training make or read theirs. `resumes`: a checkpoint waits to be read. Throws
  /// InvalidArgument when a training before did not keep its states and nothing replaces them.
  void prepare(const Graph& graph, uint64_t seed, bool makes_them, bool resumes);
  /// Whether only the seed says what the states are.
  bool are_fresh() const { return states_.empty() && loaded_path_.empty(); }
  /// Takes the states at the end of a training at `position`. Throws RuntimeFailure(non_finite).
  void take(States&& states, TrainingPosition position);
  /// A training did not keep its states.
  void spend();
  /// After a training that failed: what it began with, where that can be known.
  void restore(const Graph& graph, uint64_t seed, bool makes_them);

  /// What a failed training puts back.
  struct Waiting {
    std::string loaded_path;
    bool is_spent = false;
  };
  Waiting waiting() const { return {loaded_path_, is_spent_}; }
  void put_back(const Waiting& before);

 private:
  void require_some() const;

  States states_;
  Graph known_{};  // the states of the last program: no nodes
  std::vector<std::string> weight_names_;
  std::string loaded_path_;
  TrainingPosition position_;  // after the last training
  bool is_spent_ = false;      // by a training whose states were not kept
};

}  // namespace partita
