#pragma once
// The learning rate as a function of the step.

#include <cstdint>

#include "base/dtype.h"
#include "base/names.h"

namespace partita {

/// After the warm-up: linear falls to zero at the last step; cosine falls to zero along half a wave; step multiplies by
/// a factor after each so many steps.
enum class LrKind { constant, linear, cosine, step };
template <>
inline constexpr auto kNames<LrKind> = names("constant", "linear", "cosine", "step");

/// Begins with `warmup_steps` of linear rise.
struct LrSchedule {
  LrKind kind = LrKind::constant;
  double learning_rate = 0.01;
  int64_t steps = 0;  // of the whole training; for linear and cosine
  int64_t warmup_steps = 0;
  int64_t step_every = 0;  // 0: a third of `steps`
  double step_factor = 0.1;
};

/// Throws InvalidArgument for numbers that make no sense, among them a learning rate that is infinite in `dtype`.
void verify(const LrSchedule& schedule, DType dtype = DType::f64);

/// Whether `steps` changes any learning rate.
bool depends_on_length(const LrSchedule& schedule);

/// For step 0, 1, ...
double learning_rate_at(const LrSchedule& schedule, int64_t step);

}  // namespace partita
