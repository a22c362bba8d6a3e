#pragma once

#include <string>

#include "ir/kernels/kernel_set.h"

namespace partita {

struct RankOptions {
  int threads = 1;  // compute threads
  KernelSet kernels = KernelSet::fast;
  std::string device = "cpu";  // DeviceOptions::name
};

}  // namespace partita
