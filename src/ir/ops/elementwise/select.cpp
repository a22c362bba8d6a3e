#include "ir/ops/constant.h"
#include "ir/ops/kernels.h"

namespace partita {

std::vector<OpDef> select_ops() {
  OpDef op = new_op("select", "a where the condition holds, else b; broadcast", {.count = 3}, {}, kFollowsHalves);
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    if (call.inputs[0].dtype != DType::boolean) {
      reject("select", "the condition is not a bool", print(call.inputs[0]), "bool", ErrorKind::type);
    }
    if (call.inputs[1].dtype != call.inputs[2].dtype) {
      reject("select", "the branches differ in element type", print(call.inputs), "one element type", ErrorKind::type);
    }
    const Shape shape = broadcast("select", call.inputs[1].shape, call.inputs[2].shape);
    return {Type{call.inputs[1].dtype, broadcast("select", call.inputs[0].shape, shape)}};
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({1, 2}, kAnyReduce); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Value d = call.d_outputs[0];
    const Value zero = constant(call.builder, 0, d.type());
    return {Value(), sum_to(call, call.apply("select", {call.inputs[0], d, zero}), call.inputs[1].type()),
            sum_to(call, call.apply("select", {call.inputs[0], zero, d}), call.inputs[2].type())};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    const Shape& shape = out[0].type.shape;
    const bool* condition = in[0].as<bool>();
    for_element_size(in[1].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T *a = static_cast<const T*>(in[1].data), *b = static_cast<const T*>(in[2].data);
      T* y = static_cast<T*>(out[0].data);
      for_broadcast<3>(shape, broadcast_strides<3>(in, shape), [&](int64_t i, const std::array<int64_t, 3>& at) {
        y[i] = condition[at[0]] ? a[at[1]] : b[at[2]];
      });
    });
  };
  op.traits.degree = highest_degree;
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const Shape& shape = call.outputs[0].shape;
    return {call.select(call.broadcast(call.inputs[0], shape), call.broadcast(call.inputs[1], shape),
                        call.broadcast(call.inputs[2], shape))};
  };
  const SampleInput condition{Type{DType::boolean, {4, 6}}, {Fill::boolean, 0}};
  op.samples = {{{condition, sample_of({4, 6}), sample_of({4, 6})}}, {{condition, sample_of({6}), sample_of({})}}};
  return {op};
}

}  // namespace partita
