#pragma once
// One training of a model, from its rows to its end.

#include "training/fit_options.h"
#include "training/model_states.h"
#include "training/reports.h"
#include "training/resume_point.h"

namespace partita {

struct TrainingResult;
struct TrainingRun;

/// What a training takes of its model.
struct TrainedModel {
  const ModelJob& job;
  ModelStates& states;
  ResumePoint& resume;
  CheckpointHold& hold;
};

/// The program that a training on `rows` runs. Throws InvalidArgument where configuration and rows make none.
Program training_program(const ModelJob& job, const DatasetPtr& rows);

class TrainingSession {
 public:
  /// Checks the files of the configuration and holds the folder of checkpoints, before rows are read. `is_said`:
  /// whether an option was asked for. Throws InvalidArgument for an option that has no effect, and
  /// RuntimeFailure(cannot_write) for files that cannot be written.
  TrainingSession(const TrainedModel& model, const FitOptions& fit, const IsSaid& is_said);

  Reports& reports() { return reports_; }
  /// `test`: rows that the configuration names, where the call gives none.
  TrainingEnd train(const DatasetPtr& rows, const DatasetPtr& test = nullptr);

 private:
  void require_effects(const IsSaid& is_said) const;
  /// Rows of validation and test, as the call and the configuration say.
  void choose_tests(const DatasetPtr& test);
  void tell_length(int64_t rows);
  void warn(const std::string& message) const { model_.job.warn(message); }
  TrainingEnd train_program(const Program& program, const DatasetPtr& given);
  void require_room(const Program& program, bool is_fresh, bool reads_folder) const;
  TrainingRun make_run(const Program& program, const DatasetPtr& rows, bool is_fresh) const;
  /// From the newest checkpoint that is whole, where there are some.
  void run_from(TrainingRun& run, std::vector<FoundCheckpoint> folders);
  void plan_steps(TrainingRun& run) const;
  void go_on_from(TrainingRun& run, TrainingPosition position) const;
  /// After the last step: keeps the states, saves what the configuration names, and says so.
  TrainingEnd end(TrainingResult&& result, const TrainingRun& run);
  void report_end(const TrainingEnd& end);
  /// The plan as text; "" for a program that the lines of a plan cannot say.
  std::string plan_of(const Program& program, const std::vector<Column>& columns) const;

  const TrainedModel model_;
  const JobConfig& config_;
  FitOptions fit_;
  const bool uses_configured_length_;
  Reports reports_;
  bool tests_ = false;  // after the last step
};

}  // namespace partita
