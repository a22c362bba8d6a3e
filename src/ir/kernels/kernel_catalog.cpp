#include "ir/kernels/kernel_catalog.h"

#include <algorithm>

namespace partita {

bool mixes_halves(const KernelQuery& query) {
  bool has_half = false, has_wide = false;
  for (const auto* types : {&query.inputs, &query.outputs}) {
    for (const Type& type : *types) {
      has_half = has_half || is_half(type.dtype);
      has_wide = has_wide || (is_float(type.dtype) && !is_half(type.dtype));
    }
  }
  return has_half && has_wide;
}

bool same_formats(const KernelChoice& a, const KernelChoice& b) {
  const auto same_tag = [](const MemoryFormat& left, const MemoryFormat& right) { return left.tag == right.tag; };
  return std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(), same_tag) &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), same_tag);
}

}  // namespace partita
