#include "ops/logical.h"

namespace partita {

OpDef logical_not_op() {
  OpDef op;
  op.name = "logical_not";
  op.summary = "true where x is false";
  op.infer = [](const OpCall& call) { return infer_logical("logical_not", call, 1); };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = [](const GradCall&) -> std::vector<Value> { return {Value()}; };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    const bool* x = in[0].as<bool>();
    bool* y = out[0].as<bool>();
    for (int64_t i = 0; i < out[0].type.elements(); ++i) y[i] = !x[i];
  };
  op.samples = {{{SampleInput{{DType::boolean, {4, 6}}, {Fill::boolean, 0}}}}};
  return op;
}

}  // namespace partita
