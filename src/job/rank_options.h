#pragma once

#include <string>

#include "ir/kernels/kernel_set.h"
#include "job/config.h"

namespace partita {

struct RankOptions {
  int threads = 1;  // compute threads
  KernelSet kernels = KernelSet::fast;
  std::string device = "cpu";  // DeviceOptions::name
  CollectiveMode collectives = CollectiveMode::cut;
  AttentionMode attention = AttentionMode::composed;
  OpenModes left_open{};
  bool deterministic = false;
  double device_memory = kDeviceMemory;
};

inline RankOptions rank_options_of(const RanksConfig& config) {
  const AcceleratorModes modes = choose_modes(config);
  return {.threads = config.threads,
          .kernels = config.kernels,
          .device = config.device,
          .collectives = modes.collectives,
          .attention = modes.attention,
          .left_open = {.collectives = config.collectives == CollectiveChoice::automatic,
                        .attention = config.attention == AttentionChoice::automatic},
          .deterministic = config.deterministic,
          .device_memory = config.device_memory};
}

}  // namespace partita
