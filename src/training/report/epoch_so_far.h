#pragma once
// The epoch of a training in progress.

#include <chrono>
#include <cmath>

#include "runtime/checkpoint/position.h"
#include "training/report/callbacks.h"

namespace partita {

class EpochSoFar {
 public:
  EpochSoFar() = default;
  /// An epoch of which `steps` steps were taken before the training was resumed, with the losses of its checkpoint.
  EpochSoFar(const EpochLosses& losses, int64_t steps)
      : losses_{.steps = steps, .uncounted = steps}, steps_before_(steps) {
    if (losses.steps == steps) losses_ = losses;
  }

  /// Adds a step. The mean leaves out a loss that is not finite, or that would make the sum infinite. `exposed`:
  /// seconds of communication, 0 if they are not measured.
  void add(double loss, double exposed) {
    const bool counts = std::isfinite(losses_.sum + loss);
    ++losses_.steps;
    if (counts) losses_.sum += loss;
    if (!counts) ++losses_.uncounted;
    exposed_ += exposed;
  }

  const EpochLosses& losses() const { return losses_; }
  /// Returns a description of the epoch, with its seconds so far and without a validation.
  EpochInfo info(int64_t epoch, bool measures_communication) const {
    EpochInfo info{.epoch = epoch,
                   .steps = losses_.steps,
                   .steps_before = steps_before_,
                   .seconds = std::chrono::duration<double>(Clock::now() - begin_).count(),
                   .loss = losses_.sum / static_cast<double>(losses_.steps - losses_.uncounted)};
    if (measures_communication) info.exposed_communication = exposed_;
    return info;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();  // in this process
  EpochLosses losses_;
  double exposed_ = 0;  // seconds of communication in this process
  int64_t steps_before_ = 0;
};

}  // namespace partita
