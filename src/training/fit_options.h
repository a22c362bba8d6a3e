#pragma once
// How a training goes on, what observes it, and how it ended.

#include "frontend/data/dataset.h"
#include "job/ineffective.h"
#include "runtime/checkpoint/checkpoint_saving.h"
#include "runtime/checkpoint/states.h"
#include "runtime/launch/signals.h"
#include "training/callbacks.h"
#include "training/evaluation.h"

namespace partita {

/// How a training ended.
struct TrainingEnd {
  int64_t step = 0;              // steps taken
  int stopped_by = 0;            // a signal
  int64_t saved_step = -1;       // of the last checkpoint; -1: none was written
  std::string checkpoint_error;  // why the last one could not be written; "" where it could
  std::optional<Metrics> test;   // on the test rows; none where a signal or an error ended the training
};

/// What a call says of a training besides its configuration. Fields that are set replace what the configuration says.
struct FitOptions {
  std::optional<int64_t> epochs{};                 // none: as configured
  std::optional<int64_t> most_steps{};             // in all; 0: those of the epochs; none: as configured
  DatasetPtr validation = nullptr;                 // evaluated after every epoch when given
  std::vector<Callback*> callbacks{};              // called on the first rank
  std::vector<Callback*> observers{};              // called in every process; of their requests files are granted
  std::optional<CheckpointOptions> checkpoints{};  // where the training is saved; none: as configured
  std::function<SignalRequests()> signals{};       // asked after each step, in every process (runtime/launch/signals.h)
  /// Whether the model has the states after the training, gathered as a whole on the first rank and in every process.
  /// Without them the ranks and checkpoints alone do: what needs states is refused then, until some are loaded.
  bool keeps_states = true;
  /// Test rows: evaluated after the last step by the ranks of the training, unless `training.evaluate` is off, and
  /// after every epoch where `training.validate` is on and no rows for it are given.
  DatasetPtr test = nullptr;
  /// Called on the first rank, and in every process, after the last step and before the test, with a model that has
  /// the states that it keeps.
  std::function<void(const TrainingEnd&)> ended{};
  /// Prints what `partita train` prints to std::cout: progress, what was saved, why it ended. `console.quiet` leaves
  /// the progress out; false prints nothing.
  bool prints = true;
  /// Whether an option was asked for, so that it is refused where it has no effect; none: whether it differs from its
  /// default and from the recipe of the model.
  IsSaid is_said{};
};

}  // namespace partita
