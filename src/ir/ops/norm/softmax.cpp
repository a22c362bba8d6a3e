#include "ir/ops/norm/softmax.h"

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/reduce/attrs.h"

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

template <class T>
void run_softmax(const Rows& rows, const T* x, T* y) {
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, y += rows.size) {
    const auto [largest, sum] = largest_and_sum(x, rows.size);
    for (int64_t z = 0; z < rows.size; ++z) y[z] = T(std::exp(double(x[z]) - largest) / sum);
  }
}

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

template <class T>
void run_softmax_grad(const Rows& rows, const T* y, const T* d_y, T* d_x) {
  for (int64_t row = 0; row < rows.count; ++row, y += rows.size, d_y += rows.size, d_x += rows.size) {
    double sum = 0;
    for (int64_t z = 0; z < rows.size; ++z) sum += double(y[z]) * double(d_y[z]);
    for (int64_t z = 0; z < rows.size; ++z) d_x[z] = T(double(y[z]) * (double(d_y[z]) - sum));
  }
}

std::vector<Value> expand_softmax_grad(const ExpandCall& call) {
  const DType dtype = call.inputs[0].dtype();
  const Value y = to_dtype(call, call.inputs[0], wide_type(dtype));
  const Value d_y = to_dtype(call, call.inputs[1], wide_type(dtype));
  const Value sum = reduce_row(call, call.apply("mul", {y, d_y}), Reduce::sum);
  return {to_dtype(call, call.apply("mul", {y, call.apply("sub", {d_y, sum})}), dtype)};
}

OpDef softmax_grad_op() {
  OpDef op;
  op.name = "softmax_grad";
  op.summary = "y * (d_y - sum of y * d_y over the last dimension)";
  op.infer = [](const OpCall& call) { return infer_rows("softmax_grad", call, 2); };
  op.rule = [](const OpCall& call) { return einsum("..z,..z->..z | z:expand", call).linear_in({1}); };
  op.expand = expand_softmax_grad;
  op.flops_per_point = 4;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      run_softmax_grad<T>(rows_of(in[0].type.shape), in[0].as<T>(), in[1].as<T>(), out[0].as<T>());
    });
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}}, {{sample_of({2, 3, 5}), sample_of({2, 3, 5})}}};
  return op;
}

}  // namespace

std::vector<OpDef> softmax_ops() { return {softmax_op(), softmax_grad_op()}; }

}  // namespace partita
