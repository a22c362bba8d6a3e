#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/kernels.h"
#include "ir/ops/reduce/attrs.h"

namespace partita {

std::vector<OpDef> bias_add_ops() {
  OpDef op = new_op("bias_add", "x + bias along one axis", {.count = 2, .floats = {0}, .same_dtype = true},
                    BiasAddAttrs{}, kFollowsHalves);
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const int64_t axis = call.attrs.as<BiasAddAttrs>().axis;
    const Type &x = call.inputs[0], &bias = call.inputs[1];
    if (axis < 0 || axis >= x.rank() || bias.shape != Shape{x.shape[axis]}) {
      reject("bias_add", "the bias does not fit", fmt::format("{} and {} along axis {}", print(x), print(bias), axis),
             "one bias per element of the axis");
    }
    return {x};
  };
  op.rule = [](const OpCall& call) {
    ShardingRule rule = pointwise_rule({call.attrs, call.outputs, call.outputs});
    rule.inputs.push_back({rule.outputs[0][call.attrs.as<BiasAddAttrs>().axis]});
    return rule.linear_in({0, 1});
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    std::vector<int64_t> others;
    for (int64_t d = 0; d < call.inputs[0].type().rank(); ++d) {
      if (d != call.attrs.as<BiasAddAttrs>().axis) others.push_back(d);
    }
    const Value d = call.d_outputs[0];
    const Value d_bias = others.empty() ? d : call.apply("reduce", {d}, ReduceAttrs{.axes = others});
    return {d, d_bias};
  };
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const std::vector<int64_t> dims{call.attrs.as<BiasAddAttrs>().axis};
    return {call.body.add_same("stablehlo.add",
                               {call.inputs[0], call.broadcast_in(call.inputs[1], dims, call.outputs[0].shape)})};
  };
  op.kernel = float_kernel<float, BiasAddAttrs>([]<class T>(const BiasAddAttrs& attrs, Inputs in, Outputs out) {
    const Shape& shape = in[0].type.shape;
    const int64_t size = shape[attrs.axis], inner = strides_of(shape)[attrs.axis];
    const T *x = in[0].as<T>(), *bias = in[1].as<T>();
    T* y = out[0].as<T>();
    const int64_t rows = size * inner > 0 ? in[0].type.elements() / inner : 0;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < inner; ++i) y[row * inner + i] = x[row * inner + i] + bias[row % size];
    }
  });
  op.samples = {{{sample_of({4, 6}), sample_of({6})}, BiasAddAttrs{1}},
                {{sample_of({2, 4, 3}), sample_of({4})}, BiasAddAttrs{1}},
                {{sample_of({4, 3}), sample_of({4})}, BiasAddAttrs{0}}};
  return {op};
}

}  // namespace partita
