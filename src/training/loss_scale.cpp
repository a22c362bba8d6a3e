#include "training/loss_scale.h"

#include <algorithm>

#include "job/loss_scaling.h"

namespace partita {
namespace {

constexpr double kFirstScale = 65536;

}  // namespace

LossScale::LossScale(const TrainingConfig& config, const std::optional<LossScaleState>& saved)
    : scaling_(loss_scaling_of(config)),
      skips_(skips_bad_steps(config)),
      factor_(config.loss_scale_factor),
      window_(config.loss_scale_window) {
  if (saved) state_ = *saved;
  if (scaling_ == LossScaling::dynamic && saved) return;
  state_.scale = is_on() ? config.loss_scale.value_or(kFirstScale) : 1;
  state_.good_steps = 0;
}

std::optional<LossScaleState> LossScale::state() const { return skips_ ? std::optional(state_) : std::nullopt; }

void LossScale::add_good_step() {
  state_.bad_steps = 0;
  if (scaling_ != LossScaling::dynamic || ++state_.good_steps < window_) return;
  state_.scale = std::min(state_.scale * factor_, LossScaleState::kMaxScale);
  state_.good_steps = 0;
}

bool LossScale::add_bad_step() {
  if (!skips_) return false;
  state_.good_steps = 0;
  if (scaling_ == LossScaling::dynamic && state_.scale > 1) {
    state_.scale = std::max(1.0, state_.scale / factor_);
    return true;
  }
  return ++state_.bad_steps < kMaxBadSteps;
}

}  // namespace partita
