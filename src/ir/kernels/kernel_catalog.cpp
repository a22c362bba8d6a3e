#include "ir/kernels/kernel_catalog.h"

#include <algorithm>

namespace partita {

bool same_formats(const KernelChoice& a, const KernelChoice& b) {
  const auto same_tag = [](const MemoryFormat& left, const MemoryFormat& right) { return left.tag == right.tag; };
  return std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(), same_tag) &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), same_tag);
}

}  // namespace partita
