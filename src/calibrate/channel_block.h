#pragma once
// The memory format of images in convolutions.

#include "ir/kernels/kernel_catalog.h"

namespace partita {

/// Returns the number of channels in a block of the format that the device's kernels choose for images of many
/// channels; 0: channels are not blocked.
int64_t channel_block(const KernelCatalog& catalog);

}  // namespace partita
