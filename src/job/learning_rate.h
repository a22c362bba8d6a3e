#pragma once
// Learning rates as functions of the step that programs compose of pieces.

#include <functional>
#include <string>
#include <vector>

#include "job/lr_schedule.h"

namespace partita {

/// A learning rate as a function of the step, counted from 0. `text` says which one it is: checkpoints keep it, so that
/// a rate that a callback has set is only gone on with under the same function.
class LearningRate {
 public:
  using Function = std::function<double(int64_t step)>;

  /// A function of a user's own.
  LearningRate(Function at, std::string text) : at_(std::move(at)), text_(std::move(text)) {}
  /// A constant rate.
  LearningRate(double rate);  // NOLINT: a number is a rate
  /// A schedule of a configuration, whose length must be given if it depends on it. Throws InvalidArgument as `verify`
  /// does, and for a missing length.
  LearningRate(const LrSchedule& schedule);  // NOLINT: a schedule is a rate

  /// Returns the rate of a step. Throws InvalidArgument if it is not finite or below 0.
  double at(int64_t step) const;
  const std::string& text() const { return text_; }

  /// Returns this rate times a factor.
  LearningRate operator*(double factor) const;
  /// Returns this rate after `steps` steps in which it rises linearly to its first value. Its own steps are counted
  /// from there. Throws InvalidArgument for a negative number of steps.
  LearningRate after_warmup(int64_t steps) const;

 private:
  Function at_;
  std::string text_;
};

/// Returns a rate that goes from `first` to `last` over `steps` steps, by the power `power` of the share that is left,
/// and stays there. Throws InvalidArgument unless `steps` is at least 1 and rates and power are finite and at least 0.
LearningRate polynomial_rate(double first, double last, int64_t steps, double power = 1);
/// Returns a rate that goes from `first` to `last` over `steps` steps by half a wave, and stays there. Throws as
/// `polynomial_rate` does.
LearningRate cosine_rate(double first, double last, int64_t steps);
/// Returns a rate that begins with `first` and is multiplied by `factor` in each step. Throws InvalidArgument unless
/// both are finite and at least 0.
LearningRate exponential_rate(double first, double factor);
/// Returns `rate` times the root of 1 / (step / `steps` + 1): half after 3 times `steps` steps. Throws InvalidArgument
/// unless `steps` is at least 1 and `rate` is finite and at least 0.
LearningRate inverse_sqrt_rate(double rate, int64_t steps = 1);
/// Returns the rate of one cycle of `steps` steps with the largest rate `rate` (LrKind::one_cycle). Throws
/// InvalidArgument unless `steps` is at least 1 and `rate` is finite and at least 0.
LearningRate one_cycle_rate(double rate, int64_t steps);

/// A rate that holds for a number of steps.
struct RatePiece {
  LearningRate rate;
  int64_t steps = 0;
};
/// Returns the rates one after another, each with its steps counted from 0. The last one holds from then on, whatever
/// its number of steps. Throws InvalidArgument without pieces, and if another one has no steps.
LearningRate piecewise(std::vector<RatePiece> pieces);

}  // namespace partita
