#pragma once
// When the checkpoints of a training are due.

#include <chrono>

#include "runtime/checkpoint/checkpoint_options.h"

namespace partita {

class CheckpointTimer {
 public:
  /// `first_step`: steps taken before the training was resumed, after which no checkpoint is due.
  CheckpointTimer(const CheckpointOptions& options, int64_t first_step) : options_(options), first_step_(first_step) {}

  /// Whether a checkpoint is due after `step` steps: by CheckpointOptions::every or ::seconds, and not if one of this
  /// step was begun.
  bool is_due(int64_t step) const {
    if (step == last_step_) return false;
    if (options_.every > 0 && step > first_step_ && step % options_.every == 0) return true;
    const std::chrono::duration<double> seconds = Clock::now() - last_time_;
    return options_.seconds > 0 && seconds.count() >= options_.seconds;
  }
  bool has_begun(int64_t step) const { return step == last_step_; }
  void begin(int64_t step) {
    last_step_ = step;
    last_time_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  const CheckpointOptions& options_;
  int64_t first_step_;
  int64_t last_step_ = -1;  // step of the last checkpoint that was begun
  Clock::time_point last_time_ = Clock::now();
};

}  // namespace partita
