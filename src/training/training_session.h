#pragma once
// One training of a model, from its rows to its end.

#include "runtime/checkpoint/weight_source.h"
#include "training/fit_options.h"
#include "training/model_states.h"
#include "training/report/reports.h"
#include "training/resume_point.h"

namespace partita {

struct TrainingResult;
struct TrainingRun;

/// The parts of its model that a training uses.
struct TrainedModel {
  const ModelJob& job;
  ModelStates& states;
  ResumePoint& resume;
  CheckpointHold& hold;
};

/// Compiles the program of a training on `rows`. Throws InvalidArgument if the network or the configuration does not
/// fit the rows, the rows are fewer than a batch, options contradict each other or have no effect, or OMP_THREAD_LIMIT
/// is below the threads; RuntimeFailure(cannot_write) if a dump fails, and ThreadFailures.
Program training_program(const ModelJob& job, const DatasetPtr& rows);

class TrainingSession {
 public:
  /// Checks the files of the configuration and holds the folder of checkpoints, before rows are read. `is_said`:
  /// whether an option was asked for. Throws InvalidArgument for an option that has no effect, if `fit` and the
  /// configuration both name checkpoints, and if a file would be written over another; RuntimeFailure(cannot_write) for
  /// files that cannot be written and if another job holds the folder, and RuntimeFailure for a signal while it waits
  /// for that job.
  TrainingSession(const TrainedModel& model, const FitOptions& fit, const IsSaid& is_said);

  Reports& reports() { return reports_; }
  /// Trains on `rows`. `test`: test rows that the configuration names, used if FitOptions::test is null. Throws as
  /// Model::train does; if it throws, the next call resumes the same checkpoint.
  TrainingEnd train(const DatasetPtr& rows, const DatasetPtr& test = nullptr);

 private:
  void require_effects(const IsSaid& is_said) const;
  /// Sets the rows of the test to FitOptions::test, else `test`; none without `training.evaluate`. Sets the rows of
  /// validation to the same if `training.validate` or `validate_every` asks for one and FitOptions::validation is null.
  /// Throws InvalidArgument if there are no rows for it.
  void choose_tests(const DatasetPtr& test);
  void warn(const std::string& message) const { warning()(message); }
  /// Returns the function that prints a warning and records it in the run.
  std::function<void(const std::string&)> warning() const;
  TrainingEnd train_program(const Program& program, const DatasetPtr& given);
  void require_room(const Program& program, bool is_fresh, bool reads_folder) const;
  TrainingRun make_run(const Program& program, const DatasetPtr& rows, bool is_fresh) const;
  /// Trains from the newest checkpoint that is not damaged, if there are checkpoints, else from the file that was set
  /// or from the beginning; `folders` has the newest last. Throws InvalidFile if all are damaged or one is of another
  /// training, MissingFile if the file that was set cannot be opened, InvalidArgument for a bad length,
  /// RuntimeFailure(ranks_disagree) if processes differ, what reading the first rows throws, and what run_training
  /// throws.
  void run_from(TrainingRun& run, std::vector<FoundCheckpoint> folders);
  void plan_steps(TrainingRun& run) const;
  void go_on_from(TrainingRun& run, TrainingPosition position) const;
  /// Runs after the last step: keeps the states if FitOptions::keeps_states is set, saves what the configuration names,
  /// reports it, and calls FitOptions::ended. Throws RuntimeFailure(non_finite) for a weight,
  /// RuntimeFailure(cannot_write) for the file of weights, and what FitOptions::ended throws.
  TrainingEnd end(TrainingResult&& result);
  void report_end(const TrainingEnd& end);

  const TrainedModel model_;
  const JobConfig& config_;
  FitOptions fit_;
  bool validates_epochs_ = false;
  Reports reports_;
  std::unique_ptr<WeightSource> source_;  // weights that ranks read their parts of; null: none
};

}  // namespace partita
