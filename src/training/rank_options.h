#pragma once

#include <string>

#include "compiler/emit/collective_mode.h"
#include "ir/kernels/kernel_set.h"

namespace partita {

struct RankOptions {
  int threads = 1;  // compute threads
  KernelSet kernels = KernelSet::fast;
  std::string device = "cpu";  // DeviceOptions::name
  CollectiveMode collectives = CollectiveMode::cut;
};

}  // namespace partita
