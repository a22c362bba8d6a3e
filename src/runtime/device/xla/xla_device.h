#pragma once
// Devices by name.

#include <string>

#include "compiler/emit/attention_mode.h"
#include "runtime/device/device.h"
#include "runtime/device/xla/accelerator.h"

namespace partita {

struct DeviceOptions {
  std::string name = "cpu";  // "cpu", or an accelerator (accelerator.h)
  int index = 0;             // device of an accelerator whose name has no index
  int threads = 1;           // compute threads
  KernelSet kernels = KernelSet::fast;
  CollectiveMode collectives = CollectiveMode::cut;   // communication of an accelerator
  AttentionMode attention = AttentionMode::composed;  // how a GPU of NVIDIA computes it
  bool deterministic = false;                         // whether an accelerator repeats its bits
  double memory = kDeviceMemory;                      // share of the memory that an accelerator takes, at most
  Warn warn = nullptr;                                // for what costs no more than time
};

/// Makes a device for the rank that owns it. An accelerator opens its plugin when a program is first bound, so that
/// plans and schedules need none. `ops` outlives the device. Throws InvalidArgument for an unknown name.
std::unique_ptr<Device> make_device(const OpSet& ops, const DeviceOptions& options);
/// Makes a device of an accelerator that is open. `threads` perform what runs on the host.
std::unique_ptr<Device> make_device(const OpSet& ops, Accelerator accelerator, int threads,
                                    CollectiveMode collectives = CollectiveMode::cut);

}  // namespace partita
