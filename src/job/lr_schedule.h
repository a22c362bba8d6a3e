#pragma once
// Learning rate as a function of the step.

#include <cstdint>

#include "base/dtype.h"
#include "base/names.h"

namespace partita {

/// Shape of the learning rate after the warm-up. linear and cosine (half a wave) fall to zero at step `steps`. step
/// multiplies by `step_factor` every `step_every` steps, counted from step 0. polynomial falls to `final_rate` at step
/// `steps`, by the power `power` of the share of steps that are left. inverse_sqrt falls by the root of the number of
/// steps since the warm-up began (Vaswani et al., 2017). one_cycle rises in place of the warm-up, by half a wave from a
/// 25th of the rate, over `warmup_steps` or, if that is 0, 30 % of the steps. Then it falls, by half a wave, to a
/// 250,000th at the last step (Smith and Topin, 2018).
enum class LrKind { constant, linear, cosine, step, polynomial, inverse_sqrt, one_cycle };
constexpr auto value_names(LrKind) {
  return names("constant", "linear", "cosine", "step", "polynomial", "inverse_sqrt", "one_cycle");
}

/// A learning rate that rises linearly for `warmup_steps` steps, then follows `kind`.
struct LrSchedule {
  LrKind kind = LrKind::constant;
  double learning_rate = 0.01;
  int64_t steps = 0;  // length of the training, in steps; not used by constant
  int64_t warmup_steps = 0;
  int64_t step_every = 0;  // steps between two falls; 0: a third of `steps`
  double step_factor = 0.1;
  double power = 1, final_rate = 0;  // used by polynomial
};

/// Checks that the learning rate is at least 0 and finite, also in `dtype`, and that the warm-up has 0 to 2^40 steps.
/// Throws InvalidArgument otherwise.
void verify(const LrSchedule& schedule, DType dtype = DType::f64);

/// Whether the learning rate of any step depends on LrSchedule::steps: that of linear, cosine, and step without
/// `step_every`.
bool depends_on_length(const LrSchedule& schedule);

/// Returns the learning rate of a step, counted from 0. That of linear and cosine is 0 from step max(`steps`,
/// `warmup_steps` + 1) on.
double learning_rate_at(const LrSchedule& schedule, int64_t step);

}  // namespace partita
