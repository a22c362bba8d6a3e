#include "ir/ops/pointwise.h"

namespace partita {

std::vector<OpDef> abs_ops() {
  return {slope_op(
      "abs", "magnitude of x; the gradient at 0 is 0", {}, [](auto x) { return abs_of(x); },
      [](const GradCall& call) { return call.apply("sign", {call.inputs[0]}); }, Fill::distinct)};
}

}  // namespace partita
