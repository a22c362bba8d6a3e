#pragma once
// Decides which instructions flush subnormal numbers (docs/decisions/014-subnormal-numbers.md).

#include "base/subnormals.h"
#include "ir/graph/graph.h"
#include "runtime/device/device.h"

namespace partita {

/// The subnormal mode that a node requires, from the types of its operands and results; nullopt if any will do.
inline std::optional<Subnormals> subnormals_of(const Graph& graph, const Node& node) {
  std::optional<Subnormals> wanted;
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (ValueId value : *values) wanted = subnormals_of_both(wanted, subnormals_of(graph.type(value).dtype));
  }
  return wanted;
}

/// Sets the subnormal mode of a device's threads while instructions run. The destructor restores the caller's mode.
class DeviceSubnormals {
 public:
  explicit DeviceSubnormals(Device& device) : device_(device) {}
  ~DeviceSubnormals() {
    if (now_) device_.set_subnormals(before_);
  }
  DeviceSubnormals& operator=(DeviceSubnormals&&) = delete;

  /// Sets the mode of the device's threads. Does nothing for nullopt, or if the last call set the same mode.
  void set(std::optional<Subnormals> wanted) {
    if (!wanted || wanted == now_) return;
    device_.set_subnormals(SubnormalSetting(*wanted));
    now_ = wanted;
  }

 private:
  Device& device_;
  SubnormalSetting before_ = SubnormalSetting::current();
  std::optional<Subnormals> now_;
};

}  // namespace partita
