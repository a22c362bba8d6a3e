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

/// Returns the rate of one_cycle: half a wave up, half a wave down, each with its ends.
double one_cycle(const LrSchedule& schedule, int64_t step) {
  constexpr double kRise = 25, kFall = 1e4;  // factors of the first rate: to the largest, and from it to the last
  const double first = schedule.learning_rate / kRise, last = first / kFall;
  const auto steps = static_cast<double>(std::max<int64_t>(1, schedule.steps));
  const double peak = schedule.warmup_steps > 0 ? static_cast<double>(schedule.warmup_steps) : 0.3 * steps - 1;
  const auto wave = [](double from, double to, double passed) {
    return to + (from - to) * (1 + std::cos(std::numbers::pi * std::clamp(passed, 0.0, 1.0))) / 2;
  };
  const auto at = static_cast<double>(step);
  if (at <= peak) return wave(first, schedule.learning_rate, peak > 0 ? at / peak : 1);
  return wave(schedule.learning_rate, last, (at - peak) / std::max(1.0, steps - 1 - peak));
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
  if (!is_finite_in(schedule.final_rate, dtype) || schedule.final_rate < 0) {
    throw InvalidArgument("[lr-final] not a learning rate, got {}, expected a number from 0 that {} can hold",
                          schedule.final_rate, name_of(dtype));
  }
  if (schedule.warmup_steps < 0 || schedule.warmup_steps > kMaxWarmupSteps) {
    throw InvalidArgument("[warmup-steps] out of range, got {}, expected 0 to {}", schedule.warmup_steps,
                          kMaxWarmupSteps);
  }
}

bool depends_on_length(const LrSchedule& schedule) {
  switch (schedule.kind) {
    case LrKind::constant:
    case LrKind::inverse_sqrt: return false;
    case LrKind::step: return schedule.step_every == 0;
    case LrKind::linear:
    case LrKind::cosine:
    case LrKind::polynomial:
    case LrKind::one_cycle: return true;
  }
  return true;
}

double learning_rate_at(const LrSchedule& schedule, int64_t step) {
  const double rate = schedule.learning_rate;
  if (schedule.kind == LrKind::one_cycle) return one_cycle(schedule, step);
  if (step < schedule.warmup_steps) {
    return rate * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
  }
  if (schedule.kind == LrKind::step) {
    const int64_t every = std::max<int64_t>(1, schedule.step_every > 0 ? schedule.step_every : schedule.steps / 3);
    return rate * std::pow(schedule.step_factor, static_cast<double>(step / every));
  }
  if (schedule.kind == LrKind::inverse_sqrt) {
    const auto warm_up = static_cast<double>(std::max<int64_t>(1, schedule.warmup_steps));
    return rate * std::sqrt(warm_up / static_cast<double>(std::max<int64_t>(step + 1, schedule.warmup_steps)));
  }
  const int64_t falling = std::max<int64_t>(1, schedule.steps - schedule.warmup_steps);
  const double passed = std::min(1.0, static_cast<double>(step - schedule.warmup_steps) / static_cast<double>(falling));
  if (schedule.kind == LrKind::linear) return rate * (1 - passed);
  if (schedule.kind == LrKind::cosine) return rate * (1 + std::cos(std::numbers::pi * passed)) / 2;
  if (schedule.kind == LrKind::polynomial) {
    return schedule.final_rate + (rate - schedule.final_rate) * std::pow(1 - passed, schedule.power);
  }
  return rate;
}

}  // namespace partita
