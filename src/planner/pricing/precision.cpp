#include "planner/pricing/precision.h"

namespace partita {

Precision Precision::of(DType dtype) {
  const double bytes = static_cast<double>(size_of(dtype));
  if (bytes >= 4) return {.compute = dtype, .activation = bytes, .weight = bytes, .gradient = bytes, .state = bytes};
  return {.compute = dtype, .activation = bytes, .weight = bytes, .gradient = 4, .master = 4};
}

}  // namespace partita
