#pragma once
// Which kernels a device offers.

#include "base/names.h"

namespace partita {

/// `fast`: the most special kernel that takes a node. `reference`: the reference kernel of its op, always.
enum class KernelSet { fast, reference };
template <>
inline constexpr auto kNames<KernelSet> = names("fast", "reference");

}  // namespace partita
