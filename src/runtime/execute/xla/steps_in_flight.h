#pragma once
// Outputs of steps that the host has not read, on the device.

#include <deque>

#include "compiler/emit/update_guard.h"
#include "runtime/execute/stage_values.h"
#include "runtime/execute/xla/device_values.h"

namespace partita {

/// The outputs by which the host tells whether a step was good, oldest step first.
class StepsInFlight {
 public:
  /// Keeps the present outputs in `values` as those of a step that was started.
  void add(DeviceValues& values, const UpdateGuard& guard) {
    const auto shared = [&](int place) { return place < 0 ? nullptr : values.shared(place); };
    steps_.push_back({shared(guard.loss), shared(guard.finite)});
  }
  size_t count() const { return steps_.size(); }
  void forget() { steps_.clear(); }
  /// Copies the numbers of the oldest step to the host and forgets it. Waits for the step. Throws as
  /// `DeviceValues::downloaded` does.
  StepNumbers take_oldest(DeviceValues& values, const UpdateGuard& guard) {
    const Outputs outputs = std::move(steps_.front());
    steps_.pop_front();
    StepNumbers numbers;
    if (outputs.loss != nullptr) numbers.loss = values.downloaded(*outputs.loss, guard.loss);
    if (outputs.finite != nullptr) {
      numbers.has_finite_gradients = values.downloaded(*outputs.finite, guard.finite).at(0) != 0;
    }
    return numbers;
  }

 private:
  struct Outputs {
    std::shared_ptr<const pjrt::Buffer> loss, finite;  // null: there is no such output
  };
  std::deque<Outputs> steps_;
};

}  // namespace partita
