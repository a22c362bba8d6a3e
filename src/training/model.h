#pragma once
// A network under a configuration, trained on any number of ranks.

#include "training/fit_options.h"
#include "training/model_states.h"
#include "training/predictor.h"
#include "training/resume_point.h"

namespace partita {

class JobProcess;
class JobRows;
class TrainingSession;
class ZooJob;

/// States (parameters, statistics, optimizer states, the step) stay with the model from one call to the next.
///
/// Every field of the configuration is obeyed: what is to be loaded, resumed, saved, logged and printed, and when a
/// training is validated, tested and ended. A field that has no effect is refused by its name (job/ineffective.h).
class Model {
 public:
  /// Completes the configuration (job/config.h) and reads the plan that it names. Ranks are threads of this process or,
  /// when a launcher started several processes, these: std::cout of all but the first is silent then while the model
  /// lives, unless `console.ranks` says all. Throws InvalidArgument as `completed` does, and for a loss of the
  /// configuration that the network does not have.
  Model(Network network, const JobConfig& config, const Place& place = this_place());
  /// The model of the zoo that `config.model` names, with the rows that the configuration names.
  explicit Model(const JobConfig& config, const Place& place = this_place());
  explicit Model(const ZooJob& job, const Place& place = this_place());
  Model(Model&&) noexcept;
  ~Model();

  const JobConfig& config() const { return job_.config; }
  /// Called with warnings; by default they are lines on stderr.
  void on_warning(std::function<void(const std::string&)> warn) { job_.warn = std::move(warn); }
  /// The updates of trainings, in place of those of the configuration's optimizer.
  void update_by(BuildUpdate update) { job_.own_update = std::move(update); }
  /// Called with a description of each program of a training: its plan, its memory, the time of its passes.
  void on_program(std::function<void(const std::string&)> report) { job_.report = std::move(report); }

  /// Trains on the rows that the configuration names, and tests on its test rows where there are some. After `resume`
  /// the steps of the checkpoint count as taken. Throws RuntimeFailure: out_of_memory when the estimate is larger than
  /// the machine, unless forced; non_finite before the update when a loss is not finite, and at the end when a weight
  /// is not; cannot_write for files of the configuration.
  TrainingEnd train(const FitOptions& fit = {});
  /// The same on rows of the program's own, which are in the order of training already; a last partial batch is left
  /// out.
  TrainingEnd train(const DatasetPtr& dataset, const FitOptions& fit = {});
  /// What `train` would run.
  Program training_program(const DatasetPtr& dataset) const;
  /// Over every test row that the configuration names. On a terminal it shows how far it is.
  Metrics eval();
  /// Over every row, a last partial batch too. `progress`: see Evaluation.
  Metrics eval(const DatasetPtr& dataset, const EvaluationProgress& progress = nullptr);
  /// What the network makes of a batch, computed by one rank: each column [rows, ..row], each output by its name.
  NamedArrays predict(const NamedArrays& columns);
  /// The same for a network of layers: the logits of its input, whatever the column is called.
  Array predict(const Array& inputs);
  /// The same for many batches of one type: compiled once, with the weights of now. For one thread at a time.
  Predictor predictor(const std::vector<Column>& columns, int64_t rows);

  /// A safetensors file, or a folder of a checkpoint. Takes effect, and is checked, at once where there are states,
  /// else when the next call makes them.
  void load(const std::string& path) { states_.load(path); }
  /// Throws InvalidArgument while the model has no states: before its first training, evaluation or prediction.
  void save(const std::string& path) const { states_.save(job_, path); }
  /// Values of states by name, in place of those that they have or begin with; of states that the network does not
  /// have they are ignored. Checked against their types when the next call makes a program.
  void assign(States values) { states_.assign(std::move(values)); }
  /// All states as a whole by name, as the last call left them; none before the first.
  const States& states() const { return states_.all(); }
  /// Goes on from a checkpoint, which the next training reads and checks: of a training with the same configuration,
  /// but for what may change (job/options.h), and the same number of rows. `path`: the folder of a checkpoint, of which
  /// each rank reads what it holds; a folder with checkpoints, for the newest that is whole (those that are damaged are
  /// warned of); or a file of save_checkpoint, where what callbacks keep, as the best loss of EarlyStopping, begins
  /// anew.
  void resume(const std::string& path) { resume_.set(path); }
  /// Keeps other jobs from saving to a folder of checkpoints for as long as the model lives, or until it saves to
  /// another one; `train` does so with its own folder. Of several processes the first holds the folder. `goes_on`:
  /// waits for an earlier attempt of the same job to end. Throws RuntimeFailure(cannot_write), naming the process that
  /// holds it.
  void hold_checkpoints(const std::string& folder, bool goes_on = false);
  /// All states after the last training, as CheckpointSaver writes them while it runs. Throws InvalidArgument when
  /// there was none.
  void save_checkpoint(const std::string& path) const { states_.save_checkpoint(job_, path); }

 private:
  IsSaid said_by(const FitOptions& fit) const;
  void refuse_other_loss() const;
  TrainingSession begin(const FitOptions& fit);
  void tell_generated(const std::string& use, const std::function<void(const std::string&)>& tell) const;
  /// Test rows of the configuration that a training needs; none, with a warning, where the data come without them.
  DatasetPtr open_test_rows() const;

  ModelJob job_;
  JobConfig recipe_{};  // what the model of the zoo says
  std::unique_ptr<JobProcess> process_;
  std::unique_ptr<JobRows> rows_;  // that the configuration names; none: the program's own
  ModelStates states_;
  ResumePoint resume_;
  CheckpointHold hold_;
};

}  // namespace partita
