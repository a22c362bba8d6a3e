#pragma once

#include "ir/kernels/kernel_set.h"

namespace partita {

struct RankOptions {
  int threads = 1;  // compute threads
  KernelSet kernels = KernelSet::fast;
};

}  // namespace partita
