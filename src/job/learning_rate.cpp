#include "job/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace partita {
namespace {

void require_numbers(std::string_view where, std::initializer_list<double> numbers) {
  for (const double number : numbers) {
    if (std::isfinite(number) && number >= 0) continue;
    throw InvalidArgument("[{}] not a learning rate, got {}, expected numbers >= 0", where, number);
  }
}

void require_steps(std::string_view where, int64_t steps, int64_t least) {
  if (steps >= least) return;
  throw InvalidArgument("[{}] bad number of steps, got {}, expected {} or more", where, steps, least);
}

/// Returns the share of `steps` that has passed before `step`, at most 1.
double passed(int64_t step, int64_t steps) {
  return std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
}

std::string text_of(const LrSchedule& schedule) {
  std::string text = fmt::format("{} {}", name_of(schedule.kind), schedule.learning_rate);
  if (depends_on_length(schedule)) text += fmt::format(" over {}", schedule.steps);
  if (schedule.warmup_steps > 0) text += fmt::format(", warm-up {}", schedule.warmup_steps);
  if (schedule.kind == LrKind::step) text += fmt::format(", every {} by {}", schedule.step_every, schedule.step_factor);
  if (schedule.kind == LrKind::polynomial) text += fmt::format(", power {} to {}", schedule.power, schedule.final_rate);
  return text;
}

LrSchedule checked(const LrSchedule& schedule) {
  verify(schedule);
  if (depends_on_length(schedule)) require_steps("learning rate", schedule.steps, 1);
  return schedule;
}

}  // namespace

LearningRate::LearningRate(double rate)
    : at_([rate](int64_t) { return rate; }), text_(fmt::format("constant {}", rate)) {
  require_numbers("learning rate", {rate});
}

LearningRate::LearningRate(const LrSchedule& schedule)
    : at_([own = checked(schedule)](int64_t step) { return learning_rate_at(own, step); }), text_(text_of(schedule)) {}

double LearningRate::at(int64_t step) const {
  const double rate = at_(step);
  if (std::isfinite(rate) && rate >= 0) return rate;
  throw InvalidArgument("[learning rate] {}: not a learning rate, got {} for step {}, expected a number >= 0", text_,
                        rate, step);
}

LearningRate LearningRate::operator*(double factor) const {
  require_numbers("learning rate", {factor});
  return {[own = *this, factor](int64_t step) { return factor * own.at(step); },
          fmt::format("({}) times {}", text_, factor)};
}

LearningRate LearningRate::after_warmup(int64_t steps) const {
  require_steps("warm-up", steps, 0);
  return {[own = *this, steps](int64_t step) {
            if (step >= steps) return own.at(step - steps);
            return own.at(0) * static_cast<double>(step + 1) / static_cast<double>(steps);
          },
          fmt::format("({}) after {} of warm-up", text_, steps)};
}

LearningRate polynomial_rate(double first, double last, int64_t steps, double power) {
  require_numbers("polynomial", {first, last, power});
  require_steps("polynomial", steps, 1);
  return {[=](int64_t step) { return last + (first - last) * std::pow(1 - passed(step, steps), power); },
          fmt::format("polynomial {} to {} over {}, power {}", first, last, steps, power)};
}

LearningRate cosine_rate(double first, double last, int64_t steps) {
  require_numbers("cosine", {first, last});
  require_steps("cosine", steps, 1);
  return {
      [=](int64_t step) { return last + (first - last) * (1 + std::cos(std::numbers::pi * passed(step, steps))) / 2; },
      fmt::format("cosine {} to {} over {}", first, last, steps)};
}

LearningRate exponential_rate(double first, double factor) {
  require_numbers("exponential", {first, factor});
  return {[=](int64_t step) { return first * std::pow(factor, static_cast<double>(step)); },
          fmt::format("exponential {} by {}", first, factor)};
}

LearningRate inverse_sqrt_rate(double rate, int64_t steps) {
  require_numbers("inverse_sqrt", {rate});
  require_steps("inverse_sqrt", steps, 1);
  return {[=](int64_t step) { return rate / std::sqrt(1 + static_cast<double>(step) / static_cast<double>(steps)); },
          fmt::format("inverse_sqrt {} of {}", rate, steps)};
}

LearningRate one_cycle_rate(double rate, int64_t steps) {
  require_steps("one_cycle", steps, 1);
  return LrSchedule{.kind = LrKind::one_cycle, .learning_rate = rate, .steps = steps};
}

LearningRate piecewise(std::vector<RatePiece> pieces) {
  if (pieces.empty()) throw InvalidArgument("[piecewise] no rates, got 0 pieces, expected at least 1");
  std::string text = "piecewise";
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool is_last = i + 1 == pieces.size();
    if (!is_last) require_steps("piecewise", pieces[i].steps, 1);
    text += fmt::format("{} ({}){}", i == 0 ? "" : " then", pieces[i].rate.text(),
                        is_last ? "" : fmt::format(" for {}", pieces[i].steps));
  }
  return {[own = std::move(pieces)](int64_t step) {
            size_t i = 0;
            for (; i + 1 < own.size() && step >= own[i].steps; ++i) step -= own[i].steps;
            return own[i].rate.at(step);
          },
          text};
}

}  // namespace partita
