#pragma once
// The scale of the loss over the steps of a training, and what follows steps that are not finite.

#include "job/config.h"
#include "runtime/checkpoint/checkpoint.h"

namespace partita {

/// A dynamic scale grows by a factor after a number of good steps in a row, and shrinks by it, down to 1, after a bad
/// step: one whose loss or gradients are not finite (Micikevicius et al., 2018). Every rank has one and sees the same
/// steps.
class LossScale {
 public:
  /// `saved` is the scale of a checkpoint. A dynamic scale goes on from it, and so does the count of bad steps.
  LossScale(const TrainingConfig& config, const std::optional<LossScaleState>& saved);

  /// Whether the scale adapts.
  bool is_dynamic() const { return scaling_ == LossScaling::dynamic; }
  /// Whether bad steps are left out.
  bool skips() const { return skips_; }
  /// Whether the loss is scaled.
  bool is_on() const { return scaling_ != LossScaling::off; }
  double value() const { return state_.scale; }
  int64_t good_steps() const { return state_.good_steps; }
  /// The scale that a checkpoint keeps; none unless bad steps are left out.
  std::optional<LossScaleState> state() const;

  void add_good_step();
  /// Returns whether the training goes on without the update of this step. It ends if it does not skip bad steps, and
  /// after kMaxBadSteps bad ones in a row during which the scale could not shrink.
  bool add_bad_step();

  static constexpr int64_t kMaxBadSteps = 10;

 private:
  const LossScaling scaling_;
  const bool skips_;
  const double factor_;
  const int64_t window_;
  LossScaleState state_;
};

}  // namespace partita
