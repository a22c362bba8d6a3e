#pragma once
// Inputs that go to an accelerator at once: those of a step, and those of the next one while it computes.

#include <vector>

#include "ir/sharding/rule.h"
#include "runtime/execute/xla/device_values.h"

namespace partita {

/// The inputs of a stage, if no micro-batches split them: parts of those are copied on the host first. For the thread
/// that runs the schedule.
class DeviceInputs {
 public:
  /// All that `parts` refers to and `values`, which has the inputs of the step, outlive this object.
  DeviceInputs(const DeviceValues::Parts& parts, DeviceValues& values);

  /// Whether `set` may be called for a buffer: the host does not read it.
  bool takes(int buffer) const;
  /// Copies the elements of `given` inside `box`, this rank's part of an input, to the device. It stays there until it
  /// is set again. Throws RuntimeFailure(out_of_memory) if there is too little memory.
  void set(int buffer, ConstTensor given, const Box& box);
  /// Copies the elements of `given` inside `box` to the device for the next step. If the host reads the input, memory
  /// of the host has them as well. Throws as `set` does.
  void set_next(int buffer, ConstTensor given, const Box& box);
  /// Makes what `set_next` was given the inputs of the step that begins, and returns whether there was any. Other
  /// inputs stay as they are.
  bool take_next();
  /// Drops what `set_next` was given.
  void forget_next() { next_.clear(); }
  /// Returns the bytes of what `set_next` may be given, rows and other inputs.
  int64_t bytes() const;

 private:
  struct Next {
    int place = -1;
    pjrt::Buffer value;
    std::vector<char> on_host;  // empty: the host does not read it
  };
  pjrt::Buffer upload(int buffer, ConstTensor given, const Box& box) const;
  bool host_reads(int buffer) const { return host_reads_[static_cast<size_t>(values_.place_of(buffer))]; }

  const DeviceValues::Parts parts_;
  DeviceValues& values_;
  std::vector<bool> host_reads_;  // by place
  std::vector<Next> next_;
};

}  // namespace partita
