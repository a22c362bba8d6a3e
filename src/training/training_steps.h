#pragma once
// The steps of a training on one rank: their rows, the scale of the loss, and what they give.

#include <chrono>
#include <deque>
#include <optional>

#include "training/loss_scale.h"
#include "training/step_rows.h"
#include "training/training_run.h"

namespace partita {

/// Takes steps, one after another. A step that has begun may run on an accelerator while the next one begins.
class TrainingSteps {
 public:
  /// The arguments outlive the object. `recorder`, if not null, gets the spans of each step.
  TrainingSteps(const TrainingRun& run, RankRun& rank, Communicator& comm, Recorder* recorder);

  /// Whether a step may begin before the one before it has ended: the device allows it, there is no trace, and no step
  /// may be left out, which decides about the next one. The host does not communicate within such steps, so that it
  /// does not matter in which of two its exposed communication is counted.
  bool can_run_ahead() const { return can_run_ahead_; }
  /// Number of steps that have begun and not ended.
  size_t begun() const { return begun_.size(); }
  const LossScale& scale() const { return scale_; }
  /// Whether an error ends all ranks at the same point.
  bool all_end() const { return all_end_; }

  /// Begins a step, counted from 0. `feeds_next`: whether the rows of the next one may go to the device while this one
  /// runs. `trace`: whether its spans are kept. If an earlier step has not ended, at most one has begun. Throws what
  /// reading rows throws, RuntimeFailure if a rank is lost, RuntimeFailure(out_of_memory) if a library lacks memory,
  /// and InvalidArgument for a label or an id that is out of range.
  void begin(int64_t step, double learning_rate, bool feeds_next, bool trace);
  /// Ends the oldest step that has begun. Throws RuntimeFailure(non_finite) for a loss or gradients that are not
  /// finite, naming the step and the global batch's rows, if the training ends with them; else as `begin` does.
  StepInfo end();
  /// Ends the span of a step that an error has ended.
  void close_span() { whole_.reset(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Begun {
    int64_t step = 0;
    Clock::time_point begin;
    double learning_rate = 0, scale = 1;
  };
  bool is_updated(int64_t step, const std::optional<std::string>& bad);

  const TrainingRun& run_;
  RankRun& rank_;
  Communicator& comm_;
  Recorder* const recorder_;
  LossScale scale_;
  StepRows rows_;
  const bool can_run_ahead_;
  std::deque<Begun> begun_;
  std::optional<Recorded> whole_;  // the span of the step that has begun
  Clock::time_point last_end_ = Clock::now();
  bool all_end_ = false;
};

}  // namespace partita
