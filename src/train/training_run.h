#pragma once
// The loop over the steps of a training, on each of its ranks.

#include "train/callbacks.h"
#include "train/evaluation.h"
#include "train/lr_schedule.h"

namespace partita {

/// What all ranks of a training know.
struct TrainingRun {
  const Program& program;
  DatasetPtr rows;
  int64_t batch = 0;  // global
  LrSchedule schedule;
  RankOptions rank;
  TrainInfo info;
  std::vector<Callback*> callbacks;        // called on rank 0
  const Evaluation* validation = nullptr;  // after every epoch
  /// Writes a checkpoint; called on rank 0.
  std::function<void(const std::string& path, const States& states, int64_t step)> save;
};

/// Trains from `initial`; all ranks of `comm` take part. Gives the states after the last step, on rank 0.
States run_training(const TrainingRun& run, const States& initial, Communicator& comm);

}  // namespace partita
