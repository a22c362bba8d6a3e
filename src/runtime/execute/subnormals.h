#pragma once
// Which instructions flush subnormal numbers (docs/decisions/014-subnormal-numbers.md).

#include "base/subnormals.h"
#include "ir/graph/graph.h"
#include "runtime/device/device.h"

namespace partita {

/// By the types of its operands and results.
inline std::optional<Subnormals> subnormals_of(const Graph& graph, const Node& node) {
  std::optional<Subnormals> wanted;
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (ValueId value : *values) wanted = subnormals_of_both(wanted, subnormals_of(graph.type(value).dtype));
  }
  return wanted;
}

/// While instructions run on a device's threads: sets the mode that each requires, and restores the caller's.
class DeviceSubnormals {
 public:
  explicit DeviceSubnormals(Device& device) : device_(device) {}
  ~DeviceSubnormals() {
    if (now_) device_.set_subnormals(before_);
  }
  DeviceSubnormals(const DeviceSubnormals&) = delete;
  DeviceSubnormals& operator=(const DeviceSubnormals&) = delete;

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
