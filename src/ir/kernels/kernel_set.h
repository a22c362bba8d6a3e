#pragma once
// Which kernels a device uses.

#include "base/names.h"

namespace partita {

/// fast: the most specialized kernel that accepts a node. reference: always the op's reference kernel.
enum class KernelSet { fast, reference };
constexpr auto value_names(KernelSet) { return names("fast", "reference"); }

}  // namespace partita
