#include "ops/support.h"

namespace partita {

OpDef equal_op() {
  OpDef op;
  op.name = "equal";
  op.summary = "a == b, broadcast";
  op.infer = [](const OpCall& call) {
    require_operands("equal", call, 2);
    std::vector<Type> result = infer_pointwise("equal", call);
    result[0].dtype = DType::boolean;
    return result;
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = [](const GradCall&) -> std::vector<Value> { return {Value(), Value()}; };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    binary_kernel(in, out, [](auto a, auto b) { return a == b; });
  };
  op.samples = {{{ids_of({4, 6}, 2), ids_of({4, 6}, 2)}}, {{ids_of({3, 4}, 2), ids_of({4}, 2)}}};
  return op;
}

}  // namespace partita
