#include "ops/softmax.h"

namespace partita {

std::vector<Type> infer_rows(std::string_view op, const OpCall& call, size_t operands) {
  require_operands(op, call, operands);
  require_float(op, call);
  require_same_dtype(op, call);
  const Type& first = call.inputs[0];
  for (const Type& type : call.inputs) {
    if (type.rank() == 0 || type.shape != first.shape) {
      reject(op, "shapes do not fit", print(call.inputs), "equal shapes with a last dimension");
    }
  }
  return {first};
}

Value reduce_row(const ExpandCall& call, Value x, Reduce kind) {
  return call.builder.apply_fields(
      "reduce", {x},
      {{"kind", to_text(kind)}, {"axes", to_text(std::vector<int64_t>{x.type().rank() - 1})}, {"keep_dims", "true"}});
}

Value to_dtype(const ExpandCall& call, Value x, DType dtype) {
  return x.dtype() == dtype ? x : call.builder.apply_fields("cast", {x}, {{"dtype", to_text(dtype)}});
}

Shifted shift_row(const ExpandCall& call, Value x) {
  Shifted row;
  const Value wide = to_dtype(call, x, wide_type(x.dtype()));
  row.largest = reduce_row(call, wide, Reduce::max);
  row.difference = call.apply("sub", {wide, row.largest});
  row.exponential = call.apply("exp", {row.difference});
  row.sum = reduce_row(call, row.exponential, Reduce::sum);
  return row;
}

namespace {

template <class T>
void run_softmax(const Rows& rows, const T* x, T* y) {
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, y += rows.size) {
    const auto [largest, sum] = largest_and_sum(x, rows.size);
    for (int64_t z = 0; z < rows.size; ++z) y[z] = T(std::exp(double(x[z]) - largest) / sum);
  }
}

}  // namespace

OpDef softmax_op() {
  OpDef op;
  op.name = "softmax";
  op.summary = "exp(x) / sum of exp(x) over the last dimension";
  op.infer = [](const OpCall& call) { return infer_rows("softmax", call, 1); };
  op.rule = [](const OpCall& call) { return einsum("..z->..z | z:expand", call); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("softmax_grad", {call.outputs[0], call.d_outputs[0]})};
  };
  op.expand = [](const ExpandCall& call) -> std::vector<Value> {
    const Shifted row = shift_row(call, call.inputs[0]);
    return {to_dtype(call, call.apply("div", {row.exponential, row.sum}), call.inputs[0].dtype())};
  };
  op.flops_per_point = 5;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      run_softmax<T>(rows_of(in[0].type.shape), in[0].as<T>(), out[0].as<T>());
    });
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({2, 3, 5})}}, {{sample_of({7})}}};
  return op;
}

}  // namespace partita
