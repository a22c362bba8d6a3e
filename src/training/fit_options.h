#pragma once
// How a training is run, what observes it, and how it ended.

#include "frontend/data/dataset.h"
#include "job/ineffective.h"
#include "job/learning_rate.h"
#include "runtime/checkpoint/checkpoint_options.h"
#include "runtime/checkpoint/position.h"
#include "runtime/checkpoint/states.h"
#include "runtime/launch/signals.h"
#include "training/report/callbacks.h"

namespace partita {

/// Outcome of a training.
struct TrainingEnd {
  int64_t step = 0;              // steps taken
  int stopped_by = 0;            // number of the signal; 0: none
  int64_t saved_step = -1;       // step of the last checkpoint; -1: none was written
  std::string checkpoint_error;  // why the last checkpoint could not be written; "" if it was
  int64_t restored_step = -1;    // step of the checkpoint whose weights the model has, as the best ones; -1: none
  std::optional<Metrics> test;   // on the test rows; none if a signal or an error ended the training
  /// Scale of the loss after the last step, as a checkpoint keeps it; none unless bad steps are left out.
  std::optional<KeptLossScale> loss_scale{};
};

/// Options of one call of `train`. Fields that are set replace those of the configuration.
struct FitOptions {
  std::optional<int64_t> epochs{};     // none: as configured
  std::optional<int64_t> max_steps{};  // maximum in the whole training; 0: those of the epochs; none: as configured
  DatasetPtr validation = nullptr;     // if given, rows that are evaluated after every epoch
  std::vector<Callback*> callbacks{};  // called on the first rank
  std::vector<Callback*> observers{};  // called in every process; only their requests for files are honoured
  std::optional<CheckpointOptions> checkpoints{};  // where the training is saved; none: as configured
  std::function<SignalRequests()> signals{};  // polled after each step, in every process (runtime/launch/signals.h)
  /// Whether the model gets the states after the training, gathered as a whole on the first rank and in every process.
  /// If not, only the ranks and checkpoints hold them. Calls that need states are then refused until some are loaded.
  bool keeps_states = true;
  /// Test rows. The ranks of the training evaluate them after the last step, unless `training.evaluate` is off. With
  /// `training.validate` and without `validation`, they are evaluated after every epoch, too.
  DatasetPtr test = nullptr;
  /// Called on the first rank, and in every process, after the last step and before the test. The model has the states
  /// that it keeps by then.
  std::function<void(const TrainingEnd&)> ended{};
  /// Learning rate of each step, in place of the schedule of the configuration.
  std::optional<LearningRate> learning_rate{};
  /// Scale of the loss that the training begins with, unless it is resumed. If it measures something else, the training
  /// begins with that of its configuration, and a warning says so.
  std::optional<KeptLossScale> loss_scale{};
  /// Prints to std::cout what `partita train` prints: progress, what was saved, why it ended. `console.quiet` leaves
  /// out the progress. false prints nothing.
  bool prints = true;
  /// Whether an option was asked for, so that it is refused if it has no effect. Empty: whether it differs from its
  /// default and from the model's recipe.
  IsSaid is_said{};
};

}  // namespace partita
