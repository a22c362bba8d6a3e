#pragma once
// The validations of a training: when they run, and what the last one found.

#include "training/training_run.h"

namespace partita {

class Validations {
 public:
  /// Both arguments outlive this object.
  Validations(const TrainingRun& run, RankRun& rank) : run_(run), rank_(rank) {}

  /// Whether a validation follows step number `step`, counted from 1. `is_last`: whether it ends the training.
  bool follows(int64_t step, bool is_last = false) const {
    if (run_.validation == nullptr) return false;
    if (run_.validates_epochs && (is_last || step % run_.info.steps_per_epoch == 0)) return true;
    return run_.validate_every > 0 && step % run_.validate_every == 0;
  }
  /// Runs the validation after step number `step`. Collective. Throws as Evaluation::run does.
  ValidationInfo run(int64_t step, bool ends_epoch) {
    found_ = run_.validation->run(rank_);
    step_ = step;
    return {.epoch = (step - 1) / run_.info.steps_per_epoch + 1,
            .step = (step - 1) % run_.info.steps_per_epoch + 1,
            .global_step = step,
            .ends_epoch = ends_epoch && run_.validates_epochs,
            .metrics = *found_};
  }
  /// Whether the validation after step number `step` has run.
  bool has_run(int64_t step) const { return step_ == step; }
  /// Returns the metrics that belong to an epoch that ends with step number `step`, if epochs are validated.
  std::optional<Metrics> of_epoch(int64_t step) const {
    return run_.validates_epochs && has_run(step) ? found_ : std::nullopt;
  }

 private:
  const TrainingRun& run_;
  RankRun& rank_;
  std::optional<Metrics> found_;
  int64_t step_ = -1;  // after which the last one ran; -1: none
};

}  // namespace partita
