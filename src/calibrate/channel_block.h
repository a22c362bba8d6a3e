#pragma once
// How convolutions have images in memory.

#include "ir/kernels/kernel_catalog.h"

namespace partita {

/// In blocks of how many channels the kernels of a device have images of many channels; 0: one by one.
int64_t channel_block(const KernelCatalog& catalog);

}  // namespace partita
