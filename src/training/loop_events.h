#pragma once
// Reports of a training's loop in addition to its steps: memory, times of all ranks, and checkpoints.

#include <chrono>

#include "training/training_run.h"

namespace partita {

/// The events of one rank. Both arguments outlive the object.
class LoopEvents {
 public:
  LoopEvents(const TrainingRun& run, Communicator& comm) : run_(run), comm_(comm), gathered_(run.info.first_step) {}

  /// Returns the resident memory on rank 0, if the run measures it, at most 20 times a second: a short step must not
  /// take longer for it.
  std::optional<int64_t> memory();

  /// Adds the time of this rank in a step that has ended, `step` of them by now. Gathers the times of all ranks after
  /// every step at first, and later after half a percent of the steps since then, so that long trainings communicate
  /// rarely. Collective if the run receives them. Throws LostRanks.
  void end_step(int64_t step, const StepInfo& taken);

  /// Calls TrainingRun::saved on rank 0 if `last_saved`, the step of the newest checkpoint, is another one than in the
  /// last call; -1: there is none.
  void end_saving(int64_t last_saved);

 private:
  const TrainingRun& run_;
  Communicator& comm_;
  std::chrono::steady_clock::time_point next_memory_{};
  double busy_ = 0;       // seconds in which this rank computed since the times were gathered
  int64_t gathered_ = 0;  // step after which they were gathered
  int64_t reported_ = -1;
};

}  // namespace partita
