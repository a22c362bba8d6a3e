#pragma once
// Where the values of a stage are: on the accelerator, in the host's memory, or both.

#include <mutex>
#include <optional>

#include "runtime/device/xla/accelerator.h"
#include "runtime/execute/stage_buffers.h"

namespace partita {

/// The places of a schedule (compiler/emit/segments.h), each with a copy on the device and one at its address in
/// StageBuffers, made from one another when they are needed. At the beginning all are on the host. The thread that runs
/// the schedule calls all functions, but others may call `on_host` between steps.
class DeviceValues {
 public:
  /// The arguments outlive this object. `holder`, if given, has the external states of the schedule.
  DeviceValues(const LocalGraph& local, const Schedule& schedule, const StageBuffers& buffers,
               const Accelerator& accelerator, DeviceValues* holder);

  int place_of(int buffer) const { return places_[static_cast<size_t>(buffer)]; }
  /// Returns the value of a place in a micro-batch, on the device. Throws RuntimeFailure(out_of_memory) if the device
  /// lacks memory.
  const pjrt::Buffer& on_device(int place, int64_t micro_batch);
  /// Sets the value of a place in a micro-batch, which a program computes.
  void set(int place, int64_t micro_batch, pjrt::Buffer value);
  /// Brings the value of a buffer in a micro-batch to the host's memory and returns its address. Waits for the program
  /// that computes it, and throws its error.
  char* on_host(int buffer, int64_t micro_batch);
  /// Declares that the value of a buffer in a micro-batch was written in the host's memory.
  void written(int buffer, int64_t micro_batch);
  /// Forgets the copies on the device of all values but states.
  void keep_states_alone();

 private:
  struct Value {
    std::optional<pjrt::Buffer> device{};
    bool is_on_host = true;
  };
  /// Where a value is kept: here, or by the holder.
  struct Held {
    DeviceValues* holder = nullptr;
    int buffer = -1;
  };
  Value& value(int place, int64_t micro_batch);

  const Schedule& schedule_;
  const StageBuffers& buffers_;
  const Accelerator& accelerator_;
  const std::vector<int> places_;
  std::vector<std::vector<Value>> values_;  // by place, and there by copy
  std::vector<Held> held_;                  // by place: of external states
  std::vector<bool> is_state_;              // by place
  std::mutex mutex_;
};

}  // namespace partita
