#pragma once
// Comparisons of two operands, element by element.

#include "ops/support.h"

namespace partita {

/// The op whose result is fn(a, b), a bool, over the broadcast of both.
template <class Fn>
OpDef comparison_op(const char* name, const char* summary, Fn fn) {
  OpDef op;
  op.name = name;
  op.summary = summary;
  op.infer = [name](const OpCall& call) {
    require_operands(name, call, 2);
    std::vector<Type> result = infer_pointwise(name, call);
    result[0].dtype = DType::boolean;
    return result;
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = [](const GradCall&) -> std::vector<Value> { return {Value(), Value()}; };
  op.kernel = [fn](const Attrs&, Inputs in, Outputs out) { binary_kernel(in, out, fn); };
  op.samples = {{{ids_of({4, 6}, 2), ids_of({4, 6}, 2)}},
                {{ids_of({3, 4}, 2), ids_of({4}, 2)}},
                {{sample_of({4}), sample_of({3, 4})}}};
  return op;
}

}  // namespace partita
