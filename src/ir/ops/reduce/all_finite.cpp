#include "base/finite.h"
#include "ir/ops/kernels.h"

namespace partita {
namespace {

ShardingRule rule_all_finite(const OpCall& call) {
  ShardingRule rule = pointwise_rule({call.attrs, call.inputs, call.inputs});
  for (Factor& factor : rule.factors) factor.reduce = Reduce::min;
  rule.outputs = {TensorMap{}};
  return rule;
}

constexpr auto run_all_finite = []<class T>(Inputs in, Outputs out) {
  const Type& type = in[0].type;
  *out[0].as<T>() = are_finite(type.dtype, in[0].data, type.elements()) ? 1 : 0;
};

std::vector<Hlo> emit_all_finite(const EmitCall& call) {
  const Hlo& x = call.inputs[0];
  const Hlo is_finite = call.body.add_typed("stablehlo.is_finite", {x}, "", {DType::boolean, x.type.shape});
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < x.type.rank(); ++d) dims.push_back(d);
  const Hlo all = call.reduce(is_finite, "and", call.splat(1, {DType::boolean, {}}), dims);
  return {call.convert(all, x.type.dtype)};
}

}  // namespace

std::vector<OpDef> all_finite_ops() {
  OpDef op = new_op("all_finite", "1 if no element is NaN or infinite, else 0", {.count = 1, .floats = {0}});
  op.infer = [](const OpCall& call) -> std::vector<Type> { return {Type{call.inputs[0].dtype, {}}}; };
  op.rule = rule_all_finite;
  op.grad = no_gradients;
  op.emit = emit_all_finite;
  op.kernel = float_kernel<float>(run_all_finite);
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({5})}}, {{sample_of({})}}};
  return {op};
}

}  // namespace partita
