#pragma once
// The learning rate as a function of the step.

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace partita {

/// After `warmup_steps` of linear rise: "constant"; "linear" falls to zero at `steps`; "cosine" falls
/// to zero along half a wave; "step" multiplies by `step_factor` after each `step_every` steps.
struct LrSchedule {
  std::string kind = "constant";
  double learning_rate = 0.01;
  int64_t steps = 0;  // of the whole training; for linear and cosine
  int64_t warmup_steps = 0;
  int64_t step_every = 0;  // 0: a third of `steps`
  double step_factor = 0.1;
};

std::vector<std::string> lr_schedule_names();

/// Throws InvalidArgument for an unknown kind or numbers that make no sense, among them a learning rate that is
/// infinite in `dtype`.
void verify(const LrSchedule& schedule, DType dtype = DType::f64);

/// For step 0, 1, ...
double learning_rate_at(const LrSchedule& schedule, int64_t step);

}  // namespace partita
