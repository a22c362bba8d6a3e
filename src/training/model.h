#pragma once
// A network under a configuration that can be trained, evaluated and saved, on any number of ranks.

#include "training/fit_options.h"
#include "training/model_states.h"
#include "training/predictor.h"
#include "training/resume_point.h"

namespace partita {

struct GenerateRequest;
class JobProcess;
class JobRows;
class TrainingSession;
class ZooJob;

/// A model, whose states (parameters, statistics, optimizer states, the step) persist between calls.
/// The model honours every field of the configuration: what is loaded, resumed, saved, logged and printed, and when a
/// training is validated, tested and ended. A field without effect is refused by its name (job/ineffective.h).
class Model {
 public:
  /// Completes the configuration (job/config.h), and reads or searches the plan that it names. Ranks are threads of
  /// this process, or the processes that a launcher started. std::cout of all processes but the first is then silent
  /// while the model lives, unless `console.ranks` is all. Weights and checkpoints that the configuration names are
  /// read by later calls. Throws InvalidArgument for a configuration that `completed` refuses, a loss or an ignored
  /// label in it that is not the network's, a malformed plan, and an option that contradicts the plan; MissingFile for
  /// a plan that cannot be read; RuntimeFailure(cannot_write) if the log or the flight record of the process cannot be
  /// written or another job writes it; RuntimeFailure if the processes do not find one another; and what
  /// `automatic_plan` throws.
  Model(Network network, const JobConfig& config, const Place& place = this_place());
  /// Makes the model of the zoo that `config.model` names, with the rows that the configuration names, else the model's
  /// own or generated ones. Throws as the constructor for a network does, and InvalidArgument for an unknown model or
  /// data that it does not read.
  explicit Model(const JobConfig& config, const Place& place = this_place());
  explicit Model(const ZooJob& job, const Place& place = this_place());
  Model(Model&&) noexcept;
  ~Model();

  const JobConfig& config() const { return job_.config; }
  /// Sets the receiver of warnings. By default they are lines on stderr.
  void on_warning(std::function<void(const std::string&)> warn) { job_.warn = std::move(warn); }
  /// Sets the updates of trainings, in place of those of the configuration's optimizer. Checkpoints have the name.
  void update_by(BuildUpdate update, std::string name = "own") {
    job_.own_update = std::move(update);
    job_.own_update_name = std::move(name);
  }
  /// Adds a metric of the program's own, which every evaluation measures from then on (Metrics::measured).
  void add_metric(OwnMetric metric) { job_.own_metrics.push_back(std::move(metric)); }
  /// Sets the receiver of a description of each training program (`describe_program`) and of each evaluation between
  /// its steps (`describe_evaluation`).
  void on_program(std::function<void(const std::string&)> report) { job_.report = std::move(report); }

  /// Trains on the rows that the configuration names, and tests on its test rows if there are some. After `resume`, the
  /// steps of the checkpoint count as taken. Throws RuntimeFailure: out_of_memory if the estimate exceeds the machine's
  /// memory, unless forced; non_finite before the update if a loss is not finite, and at the end if a weight or the
  /// test is not; cannot_write for files of the configuration; as Communicator does if a rank is lost or the processes
  /// differ. Throws InvalidArgument if the configuration names no rows or does not fit them, an option has no effect, a
  /// label, an id or a learning rate is out of range, or OMP_THREAD_LIMIT is below the threads. Throws MissingFile or
  /// InvalidFile if rows, weights or the checkpoint cannot be read, and InvalidFile for a checkpoint of another
  /// training. Throws what callbacks throw.
  TrainingEnd train(const FitOptions& fit = {});
  /// Trains on `dataset` in place of the configuration's rows, in the order that it has: it is not shuffled. A last
  /// partial batch is left out. Only `fit` gives rows for validation and test. Throws as the other `train` does, what
  /// reading `dataset` throws, and InvalidArgument if the configuration asks for a source of rows or their preparation.
  TrainingEnd train(const DatasetPtr& dataset, const FitOptions& fit = {});
  /// Compiles the program that `train` would run on `dataset`. Throws InvalidArgument if the network or the
  /// configuration does not fit the rows, the rows are fewer than a batch, options contradict each other or have no
  /// effect, or OMP_THREAD_LIMIT is below the threads; RuntimeFailure(cannot_write) if a dump fails, and
  /// ThreadFailures.
  Program training_program(const DatasetPtr& dataset) const;
  /// Evaluates all test rows that the configuration names, or the model's own rows, and shows the progress on a
  /// terminal. Throws as the other `eval` does, InvalidArgument if the configuration names no rows or the network does
  /// not read them, and MissingFile, InvalidFile or RuntimeFailure(out_of_memory) if they cannot be opened
  /// (`open_dataset`).
  Metrics eval();
  /// Evaluates all rows, a last partial batch too, with the averages of a training that keeps some
  /// (`optimizer.ema`), else with the present weights, or initial ones if there are none.
  /// `progress`: see EvaluationProgress. Throws InvalidArgument if the network does not fit the rows or there are none,
  /// if a label or an id is out of range, if OMP_THREAD_LIMIT is below the threads, and if a training did not keep the
  /// states; RuntimeFailure(out_of_memory) as `train` does, RuntimeFailure(non_finite) for a loss or logits that are
  /// not finite, RuntimeFailure if a rank is lost or the processes differ, what reading the rows and `progress` throw,
  /// and what `load` throws for weights that wait.
  Metrics eval(const DatasetPtr& dataset, const EvaluationProgress& progress = nullptr);
  /// Returns the network's outputs for a batch, by name, computed by one rank. Each column is [rows, ..row]. Throws
  /// InvalidArgument if a column is missing or does not fit, or an id is out of range, and as `predictor` does.
  NamedArrays predict(const NamedArrays& columns);
  /// Returns the logits for a batch of inputs of a network of layers, whatever the column's name. Throws as the other
  /// `predict` does, and InvalidArgument if the network has no output "logits".
  Array predict(const Array& inputs);
  /// Compiles a function that predicts batches of `rows` rows with the weights of `eval`. `columns`: names and types of
  /// one row. The function is for one thread at a time, and throws InvalidArgument if a column is missing or does not
  /// fit, or an id is out of range. Throws InvalidArgument if the network does not fit the columns, a training did not
  /// keep the states, or OMP_THREAD_LIMIT is below the threads, RuntimeFailure(out_of_memory) as `train` does, and what
  /// `load` throws for weights that wait.
  Predictor predictor(const std::vector<Column>& columns, int64_t rows);

  /// Lengthens texts of tokens under the plan of the configuration (training/generator.h), with the weights
  /// of `eval`. Throws as `generate_tokens` does, and InvalidArgument if the configuration names no rows.
  void generate(const GenerateRequest& request,
                const std::function<std::optional<int32_t>(size_t text, std::span<const float> logits)>& choose);

  /// Loads weights from a safetensors file, the folder of a checkpoint, or the newest checkpoint of a folder. If the
  /// model has states, the weights are checked and take effect at once, else in the next call that creates states.
  /// Throws, at once or in that call, MissingFile if the file cannot be opened or the folder has no checkpoint, and
  /// InvalidFile if it is damaged or does not fit the network.
  void load(const std::string& path) { states_.load(path); }
  /// Writes the weights, in the first process only. Throws InvalidArgument if the model has no states, that is before
  /// its first training, evaluation or prediction, while a training runs, and after one that did not keep them;
  /// InvalidArgument if no call has used the weights of `load` yet; RuntimeFailure(non_finite) for a weight that is not
  /// finite, and RuntimeFailure(cannot_write) if the file cannot be written.
  void save(const std::string& path) const { states_.save(job_, path); }
  /// Replaces values of states by name, or sets the values with which states begin. Names that the network does not
  /// have are ignored. Types are checked when the next call compiles a program, which throws InvalidArgument for
  /// another type.
  void assign(States values) { states_.assign(std::move(values)); }
  /// Returns all states as a whole, by name, as the last call left them. Empty before the first call that creates them,
  /// unless `assign` gave some, and after a training that did not keep them.
  const States& states() const { return states_.all(); }
  /// Sets the checkpoint from which the next training is resumed; that training reads and checks it. It must be of a
  /// training with the same number of rows and the same configuration, except for options that may change
  /// (job/options.h). `path` is one of four. The folder of a checkpoint: each rank reads its own parts. A folder with
  /// checkpoints: the newest undamaged one is used, with warnings of damaged ones. "latest": that of
  /// `files.checkpoint`, if there is one. A file of save_checkpoint: the state of callbacks, such as the best loss of
  /// EarlyStopping, starts anew.
  void resume(const std::string& path) { resume_.set(path); }
  /// Writes all states after the last training to one file, in the format of CheckpointSaver, in the first process
  /// only. Throws as `save` does, RuntimeFailure(non_finite) for any state, and InvalidArgument if there was no
  /// training.
  void save_checkpoint(const std::string& path) const { states_.save_checkpoint(job_, path); }

 private:
  IsSaid said_by(const FitOptions& fit) const;
  void refuse_other_loss() const;
  TrainingSession begin(const FitOptions& fit);
  void tell_generated(const std::string& use, const std::function<void(const std::string&)>& tell) const;
  /// Returns the test rows that a training needs. Returns null if it neither validates nor tests. Also returns null if
  /// it only tests and the data have none, and warns of this unless the model brings its rows along. Throws
  /// InvalidArgument if `training.validate` or `validate_every` asks for rows that the data do not have, MissingFile or
  /// InvalidFile if their files are missing or damaged, and what else `open_dataset` throws.
  DatasetPtr open_test_rows() const;

  ModelJob job_;
  JobConfig recipe_{};  // recipe of the model of the zoo
  std::unique_ptr<JobProcess> process_;
  std::unique_ptr<JobRows> rows_;  // rows that the configuration names; none: rows are arguments
  ModelStates states_;
  ResumePoint resume_;
  CheckpointHold hold_;
};

}  // namespace partita
