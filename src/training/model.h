#pragma once
// A network under a configuration, trained on any number of ranks.

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_saving.h"
#include "checkpoint/folder.h"
#include "checkpoint/reader.h"
#include "checkpoint/states.h"
#include "comm/communicator.h"
#include "data/dataset.h"
#include "job/program.h"
#include "launch/fingerprint.h"
#include "launch/owner_lock.h"
#include "launch/signals.h"
#include "training/callbacks.h"
#include "training/evaluation.h"

namespace partita {

struct TrainingRun;
struct TrainingResult;

/// How a training ended.
struct TrainingEnd {
  int64_t step = 0;              // steps taken
  int stopped_by = 0;            // a signal
  int64_t saved_step = -1;       // of the last checkpoint of FitOptions::checkpoints; -1: none was written
  std::string checkpoint_error;  // why the last one could not be written; "" where it could
  std::optional<Metrics> test;   // of FitOptions::test; none where a signal or an error ended the training
};

/// How a training goes on and what observes it.
struct FitOptions {
  std::optional<int64_t> epochs{};                 // none: as configured
  std::optional<int64_t> most_steps{};             // in all; 0: those of the epochs; none: as configured
  DatasetPtr validation = nullptr;                 // evaluated after every epoch when given
  std::vector<Callback*> callbacks{};              // called on the first rank
  std::vector<Callback*> observers{};              // called in every process; of their requests files are granted
  std::optional<CheckpointOptions> checkpoints{};  // a folder in which the training is saved while it runs
  std::function<SignalRequests()> signals{};       // asked after each step, in every process (launch/signals.h)
  /// Whether the model has the states behind it, gathered as a whole on the first rank and in every process. Without
  /// them the ranks and checkpoints alone do: what needs states is refused then, until some are loaded.
  bool keeps_states = true;
  DatasetPtr test = nullptr;           // evaluated behind the last step by the ranks of the training
  EvaluationProgress test_progress{};  // called on the first rank
  /// Called on the first rank, and in every process, behind the last step and before the test, with a model that has
  /// the states that it keeps.
  std::function<void(const TrainingEnd&)> ended{};
};

/// Named arrays in an order of their own.
using NamedArrays = std::vector<std::pair<std::string, Array>>;

/// States (parameters, statistics, optimizer states, the step) stay with the model from one call to the next.
class Model {
 public:
  /// Completes the configuration (job/config.h). Ranks are threads of this process or, when a launcher started several
  /// processes, these. Throws InvalidArgument as `completed` does.
  Model(Network network, const JobConfig& config, const Place& place = this_place());

  const JobConfig& config() const { return config_; }
  /// Called with warnings; by default nothing is.
  void on_warning(std::function<void(const std::string&)> warn) { warn_ = std::move(warn); }
  /// The updates of trainings, in place of those of the configuration's optimizer.
  void update_by(BuildUpdate update) { own_update_ = std::move(update); }
  /// Called with a description of each program of a training: its plan, its memory, the time of its passes.
  void on_program(std::function<void(const std::string&)> report) { report_ = std::move(report); }

  /// Rows of `dataset` are in the order of training already; a last partial batch is left out. After `resume` the
  /// steps of the checkpoint count as taken. Throws RuntimeFailure: out_of_memory when the estimate is larger than the
  /// machine, unless forced; non_finite before the update when a loss is not finite, and at the end when a weight is
  /// not.
  TrainingEnd train(const DatasetPtr& dataset, const FitOptions& fit = {});
  /// What `train` would run.
  Program training_program(const DatasetPtr& dataset) const;
  /// Over every row, a last partial batch too. `progress`: see Evaluation.
  Metrics eval(const DatasetPtr& dataset, const EvaluationProgress& progress = nullptr);
  /// What the network makes of a batch, computed by one rank: each column [rows, ..row], each output by its name.
  NamedArrays predict(const NamedArrays& columns);
  /// The same for a network of layers: the logits of its input, whatever the column is called.
  Array predict(const Array& inputs);
  /// The same for many batches of one type: compiled once, with the weights of now. For one thread at a time.
  std::function<NamedArrays(const NamedArrays&)> predictor(const std::vector<Column>& columns, int64_t rows);

  /// A safetensors file, or a folder of a checkpoint. Takes effect, and is checked, at once where there are states,
  /// else when the next call makes them.
  void load(const std::string& path);
  /// Throws InvalidArgument while the model has no states: before its first training, evaluation or prediction.
  void save(const std::string& path) const;
  /// Values of states by name, in place of those that they have or begin with; of states that the network does not
  /// have they are ignored. Checked against their types when the next call makes a program.
  void assign(States values);
  /// All states as a whole by name, as the last call left them; none before the first.
  const States& states() const { return states_; }
  /// Goes on from a checkpoint, which the next training reads and checks: of a training with the same configuration,
  /// but for what may change (job/options.h), and the same number of rows. `path`: the folder of a checkpoint, of which
  /// each rank reads what it holds; a folder with checkpoints, for the newest that is whole (those that are damaged are
  /// warned of); or a file of save_checkpoint, where what callbacks keep, as the best loss of EarlyStopping, begins
  /// anew.
  void resume(const std::string& path) { resumed_path_ = path; }
  /// Keeps other jobs from saving to a folder of checkpoints for as long as the model lives, or until it saves to
  /// another one; `train` does so with the folder of its options. Of several processes the first holds the folder.
  /// `goes_on`: waits for an earlier attempt of the same job to end. Throws RuntimeFailure(cannot_write), naming the
  /// process that holds it.
  void hold_checkpoints(const std::string& folder, bool goes_on = false);
  /// All states after the last training, as CheckpointSaver writes them while it runs. Throws InvalidArgument when
  /// there was none.
  void save_checkpoint(const std::string& path) const;

 private:
  ProgramRequest request(const std::vector<Column>& columns, int64_t batch, int64_t ranks, Purpose purpose) const;
  Program make_program(const std::vector<Column>& columns, int64_t batch, int64_t ranks, Purpose purpose) const;
  /// `makes_them`: in this process, as a whole; otherwise the ranks of a training make or read theirs.
  void prepare_states(const Graph& graph, bool makes_them = true);
  void require_states() const;
  TrainingRun make_run(const Program& program, const DatasetPtr& dataset, const FitOptions& fit);
  TrainingEnd train_program(const Program& program, const DatasetPtr& given, const FitOptions& fit);
  void begin_training(TrainingRun& run, const FitOptions& fit, std::vector<FoundCheckpoint> folders);
  void spend();
  void take_end(TrainingResult&& result, TrainingPosition position);
  TrainingPosition resumed_position(const Graph& graph, TrainingPosition now);
  TrainingPosition position_of(const CheckpointReader& reader, const Graph& graph, TrainingPosition now) const;
  /// The checkpoint folders that the next training may begin with, the one that is to be taken last; none where it
  /// begins with no folder.
  std::vector<FoundCheckpoint> resumed_folders() const;
  /// As text; "" for a program that the lines of a plan cannot say.
  std::string plan_of(const Program& program, const std::vector<Column>& columns) const;
  LaunchFingerprint fingerprint_of(const Program& program, const DatasetPtr& rows) const;
  LaunchFingerprint fingerprint_of(const TrainingRun& run, const FitOptions& fit) const;
  bool writes_files() const { return world_ == nullptr || world_->rank() == 0; }
  void plan_steps(TrainingRun& run, const FitOptions& fit) const;
  void go_on_from(TrainingRun& run, TrainingPosition position) const;
  std::optional<int64_t> ignored_label() const;
  /// Throws RuntimeFailure(out_of_memory) when a program does not fit the machine, with so many copies of the states as
  /// a whole, or does not fit between the steps of a training whose states it shares.
  void require_room(const Program& program, int64_t ranks, int64_t copies, const Program* training = nullptr) const;
  /// `training`: whose states the evaluation shares.
  Evaluation make_evaluation(const DatasetPtr& rows, const Program* training = nullptr) const;
  /// The same in batches of at most so many rows, whether or not it fits.
  Evaluation make_evaluation(const DatasetPtr& dataset, const Program* training, int64_t most_rows) const;
  /// The same in batches of as many rows as fit where a training does.
  Evaluation make_fitting_evaluation(const DatasetPtr& dataset, const Program* training) const;
  RankOptions rank_options() const { return {.threads = config_.ranks.threads, .kernels = config_.ranks.kernels}; }
  void warn(const std::string& message) const {
    if (warn_) warn_(message);
  }

  Network network_;
  JobConfig config_;
  Place place_;
  Communicator* world_ = nullptr;  // of processes; none: ranks are threads
  std::function<void(const std::string&)> warn_, report_;
  BuildUpdate own_update_;
  States states_;
  Graph known_states_{};  // of the last program: no nodes
  std::vector<std::string> weight_names_;
  std::string loaded_path_, resumed_path_;
  std::string held_folder_;
  std::optional<OwnerLock> checkpoints_lock_;  // of it
  TrainingPosition position_;                  // after the last training
  bool is_spent_ = false;                      // by a training whose states were not kept
};

}  // namespace partita
