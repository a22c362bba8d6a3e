#include "job/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/shape.h"

namespace partita {

namespace {

constexpr int64_t kMaxWarmupSteps = int64_t{1} << 40;

bool is_finite_in(double value, DType dtype) {
  Array array(Type{dtype, {}});
  array.set(0, value);
  return std::isfinite(array.at(0));
}

}  // namespace

void verify(const LrSchedule& schedule, DType dtype) {
  if (!std::isfinite(schedule.learning_rate) || schedule.learning_rate < 0) {
    throw InvalidArgument("[lr] not a learning rate, got {}, expected a number >= 0", schedule.learning_rate);
  }
  if (!is_finite_in(schedule.learning_rate, dtype)) {
    throw InvalidArgument("[lr] infinite in {}, got {}, expected a number that {} can hold", name_of(dtype),
                          schedule.learning_rate, name_of(dtype));
  }
  if (schedule.warmup_steps < 0 || schedule.warmup_steps > kMaxWarmupSteps) {
    throw InvalidArgument("[warmup-steps] out of range, got {}, expected 0 to {}", schedule.warmup_steps,
                          kMaxWarmupSteps);
  }
}

bool depends_on_length(const LrSchedule& schedule) {
  switch (schedule.kind) {
    case LrKind::constant: return false;
    case LrKind::step: return schedule.step_every == 0;
    case LrKind::linear:
    case LrKind::cosine: return true;
  }
  return true;
}

double learning_rate_at(const LrSchedule& schedule, int64_t step) {
  if (step < schedule.warmup_steps) {
    return schedule.learning_rate * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
  }
  if (schedule.kind == LrKind::step) {
    const int64_t every = std::max<int64_t>(1, schedule.step_every > 0 ? schedule.step_every : schedule.steps / 3);
    return schedule.learning_rate * std::pow(schedule.step_factor, static_cast<double>(step / every));
  }
  const int64_t falling = std::max<int64_t>(1, schedule.steps - schedule.warmup_steps);
  const double passed = std::min(1.0, static_cast<double>(step - schedule.warmup_steps) / static_cast<double>(falling));
  if (schedule.kind == LrKind::linear) return schedule.learning_rate * (1 - passed);
  if (schedule.kind == LrKind::cosine) {
    return schedule.learning_rate * (1 + std::cos(std::numbers::pi * passed)) / 2;
  }
  return schedule.learning_rate;
}

}  // namespace partita
