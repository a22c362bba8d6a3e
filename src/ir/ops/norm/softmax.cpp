#include "ir/ops/norm/softmax.h"

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/reduce/attrs.h"

namespace partita {

OpDef rows_op(const std::string& name, const char* summary, size_t operands) {
  OpDef op = new_op(name, summary, {.count = operands, .floats = {0}, .same_dtype = true});
  op.infer = [name](const OpCall& call) -> std::vector<Type> {
    const Type& first = call.inputs[0];
    for (const Type& type : call.inputs) {
      if (type.rank() == 0 || type.shape != first.shape) {
        reject(name, "shapes do not fit", print(call.inputs), "equal shapes with a last dimension");
      }
    }
    return {first};
  };
  if (operands == 1) {
    op.rule = [](const OpCall& call) { return einsum("..z->..z | z:expand", call); };
    op.grad = [name](const GradCall& call) -> std::vector<Value> {
      return {call.apply(name + "_grad", {call.outputs[0], call.d_outputs[0]})};
    };
  } else {
    op.rule = [](const OpCall& call) { return einsum("..z,..z->..z | z:expand", call).linear_in({1}); };
  }
  return op;
}

Value reduce_row(const ExpandCall& call, Value x, Reduce kind) {
  return call.apply("reduce", {x},
                    ReduceAttrs{.kind = kind, .axes = std::vector<int64_t>{x.type().rank() - 1}, .keep_dims = true});
}

Value to_dtype(const ExpandCall& call, Value x, DType dtype) {
  return x.dtype() == dtype ? x : call.apply("cast", {x}, CastAttrs{.dtype = dtype});
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

constexpr auto run_softmax = []<class T>(Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, y += rows.size) {
    const auto [largest, sum] = largest_and_sum(x, rows.size);
    for (int64_t z = 0; z < rows.size; ++z) y[z] = T(std::exp(double(x[z]) - largest) / sum);
  }
};

OpDef softmax_op() {
  OpDef op = rows_op("softmax", "exp(x) / sum of exp(x) over the last dimension", 1);
  op.expand = [](const ExpandCall& call) -> std::vector<Value> {
    const Shifted row = shift_row(call, call.inputs[0]);
    return {to_dtype(call, call.apply("div", {row.exponential, row.sum}), call.inputs[0].dtype())};
  };
  op.flops_per_point = 5;
  op.kernel = float_kernel<double>(run_softmax);
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({2, 3, 5})}}, {{sample_of({7})}}};
  return op;
}

constexpr auto run_softmax_grad = []<class T>(Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const T *y = in[0].as<T>(), *d_y = in[1].as<T>();
  T* d_x = out[0].as<T>();
  for (int64_t row = 0; row < rows.count; ++row, y += rows.size, d_y += rows.size, d_x += rows.size) {
    double sum = 0;
    for (int64_t z = 0; z < rows.size; ++z) sum += double(y[z]) * double(d_y[z]);
    for (int64_t z = 0; z < rows.size; ++z) d_x[z] = T(double(y[z]) * (double(d_y[z]) - sum));
  }
};

OpDef softmax_grad_op() {
  OpDef op = rows_op("softmax_grad", "y * (d_y - sum of y * d_y over the last dimension)", 2);
  op.expand = [](const ExpandCall& call) -> std::vector<Value> {
    const DType dtype = call.inputs[0].dtype();
    const Value y = to_dtype(call, call.inputs[0], wide_type(dtype));
    const Value d_y = to_dtype(call, call.inputs[1], wide_type(dtype));
    const Value sum = reduce_row(call, call.apply("mul", {y, d_y}), Reduce::sum);
    return {to_dtype(call, call.apply("mul", {y, call.apply("sub", {d_y, sum})}), dtype)};
  };
  op.flops_per_point = 4;
  op.kernel = float_kernel<double>(run_softmax_grad);
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}}, {{sample_of({2, 3, 5}), sample_of({2, 3, 5})}}};
  return op;
}

}  // namespace

std::vector<OpDef> softmax_ops() { return {softmax_op(), softmax_grad_op()}; }

}  // namespace partita
