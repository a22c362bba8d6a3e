#include "ir/ops/support.h"

namespace partita {
namespace {

/// Returns the op of N bools whose result is fn(bools) over their broadcast.
template <size_t N, class Fn>
OpDef logical_op(const char* name, const char* summary, const char* hlo, Fn fn) {
  OpDef op = new_op(name, summary, {.count = N});
  op.infer = [name](const OpCall& call) {
    for (const Type& type : call.inputs) {
      if (type.dtype == DType::boolean) continue;
      reject(name, "operands are not bool", print(call.inputs), "bool", ErrorKind::type);
    }
    return infer_pointwise(name, call);
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.grad = no_gradients;
  op.emit = [hlo](const EmitCall& call) -> std::vector<Hlo> {
    std::vector<Hlo> operands;
    for (const Hlo& input : call.inputs) operands.push_back(call.broadcast(input, call.outputs[0].shape));
    return {call.body.add_same(hlo, operands)};
  };
  op.kernel = [fn](const Attrs&, Inputs in, Outputs out) {
    bool* y = out[0].as<bool>();
    const Shape& shape = out[0].type.shape;
    for_broadcast<N>(shape, broadcast_strides<N>(in, shape), [&](int64_t i, const std::array<int64_t, N>& at) {
      std::array<bool, N> bools;
      for (size_t k = 0; k < N; ++k) bools[k] = in[k].as<bool>()[at[k]];
      y[i] = fn(bools);
    });
  };
  for (const Shape& other : {Shape{4, 6}, Shape{6}}) {
    Sample sample{{{{DType::boolean, {4, 6}}, {Fill::boolean, 0}}}};
    sample.inputs.resize(N, {{DType::boolean, other}, {Fill::boolean, 0}});
    op.samples.push_back(sample);
  }
  return op;
}

OpDef logical_and_op() {
  return logical_op<2>("logical_and", "a and b, broadcast", "stablehlo.and",
                       [](const auto& x) { return x[0] && x[1]; });
}

OpDef logical_or_op() {
  return logical_op<2>("logical_or", "a or b, broadcast", "stablehlo.or", [](const auto& x) { return x[0] || x[1]; });
}

OpDef logical_not_op() {
  return logical_op<1>("logical_not", "true where x is false", "stablehlo.not", [](const auto& x) { return !x[0]; });
}

}  // namespace

std::vector<OpDef> logical_ops() { return {logical_and_op(), logical_or_op(), logical_not_op()}; }

}  // namespace partita
