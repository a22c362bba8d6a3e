#pragma once

#include <string>

#include "compiler/emit/collective_mode.h"
#include "ir/kernels/kernel_set.h"
#include "job/config.h"

namespace partita {

struct RankOptions {
  int threads = 1;  // compute threads
  KernelSet kernels = KernelSet::fast;
  std::string device = "cpu";  // DeviceOptions::name
  CollectiveMode collectives = CollectiveMode::cut;
  bool deterministic = false;
  double device_memory = kDeviceMemory;
};

inline RankOptions rank_options_of(const RanksConfig& config) {
  return {.threads = config.threads,
          .kernels = config.kernels,
          .device = config.device,
          .collectives = config.collectives,
          .deterministic = config.deterministic,
          .device_memory = config.device_memory};
}

}  // namespace partita
