#pragma once
// Inputs that go to an accelerator at once: those of a step, and those of the next one while it computes.

#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "ir/sharding/rule.h"
#include "runtime/execute/xla/device_values.h"

namespace partita {

/// The inputs of a stage without micro-batches, whose parts the host cuts first. For the thread that runs the schedule.
class DeviceInputs {
 public:
  /// All that `parts` refers to and `values`, which has the inputs of the step, outlive this object.
  DeviceInputs(const DeviceParts& parts, DeviceValues& values);

  /// Copies the elements of `given` inside `box`, this rank's part of an input, to the device. It stays there until it
  /// is set again. Returns false, and copies nothing, unless programs alone read it. Throws
  /// RuntimeFailure(out_of_memory) if there is too little memory.
  bool set(int buffer, ConstTensor given, const Box& box);
  /// Copies the elements of `given` inside `box` for the next step: to the device if programs read the input, and to
  /// memory of the host if that reads it. Throws as `set` does.
  void set_next(int buffer, ConstTensor given, const Box& box);
  /// Makes what `set_next` was given the inputs of the step that begins, and returns whether there was any. Other
  /// inputs stay as they are.
  bool use_next();
  /// Drops what `set_next` was given.
  void forget_next() { next_.clear(); }
  /// Declares that a step begins with the present inputs. They are kept until `end_step`, also when others take their
  /// places.
  void begin_step() { replaced_.emplace_back(); }
  /// Declares that the oldest of the steps has ended, if `begin_step` has told of any.
  void end_step() {
    if (!replaced_.empty()) replaced_.pop_front();
  }
  void forget_steps() { replaced_.clear(); }
  /// Makes the inputs of the oldest of the steps, which is being ended, those of the step that begins.
  void take_back();
  /// Returns the bytes that the device takes for all of a step.
  int64_t bytes() const;

 private:
  struct Next {
    int place = -1;
    std::optional<pjrt::Buffer> value;  // none: no program reads it
    std::vector<char> on_host;          // empty: the host does not read it
  };
  void keep(int place);
  pjrt::Buffer upload(int buffer, ConstTensor given, const Box& box) const;
  bool is_kept(int buffer) const { return kept_.contains(values_.place_of(buffer)); }
  bool host_reads(int buffer) const { return host_reads_[static_cast<size_t>(values_.place_of(buffer))]; }

  const DeviceParts parts_;
  DeviceValues& values_;
  const std::set<int> kept_;      // places
  std::vector<bool> host_reads_;  // by place
  std::vector<Next> next_;
  /// By step in flight: inputs that others took the places of since it began.
  std::deque<std::vector<DeviceValues::KeptInput>> replaced_;
};

}  // namespace partita
