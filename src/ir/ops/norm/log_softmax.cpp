#include "ir/ops/norm/softmax.h"

namespace partita {
namespace {

template <class T>
void run_log_softmax(const Rows& rows, const T* x, T* y) {
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, y += rows.size) {
    const auto [largest, sum] = largest_and_sum(x, rows.size);
    const double log_sum = std::log(sum);
    for (int64_t z = 0; z < rows.size; ++z) y[z] = T(double(x[z]) - largest - log_sum);
  }
}

OpDef log_softmax_op() {
  OpDef op;
  op.name = "log_softmax";
  op.summary = "x - log of the sum of exp(x) over the last dimension";
  op.infer = [](const OpCall& call) { return infer_rows("log_softmax", call, 1); };
  op.rule = [](const OpCall& call) { return einsum("..z->..z | z:expand", call); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("log_softmax_grad", {call.outputs[0], call.d_outputs[0]})};
  };
  op.expand = [](const ExpandCall& call) -> std::vector<Value> {
    const Shifted row = shift_row(call, call.inputs[0]);
    const Value y = call.apply("sub", {row.difference, call.apply("log", {row.sum})});
    return {to_dtype(call, y, call.inputs[0].dtype())};
  };
  op.flops_per_point = 5;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      run_log_softmax<T>(rows_of(in[0].type.shape), in[0].as<T>(), out[0].as<T>());
    });
  };
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({2, 3, 5})}}};
  return op;
}

template <class T>
void run_log_softmax_grad(const Rows& rows, const T* y, const T* d_y, T* d_x) {
  for (int64_t row = 0; row < rows.count; ++row, y += rows.size, d_y += rows.size, d_x += rows.size) {
    double sum = 0;
    for (int64_t z = 0; z < rows.size; ++z) sum += double(d_y[z]);
    for (int64_t z = 0; z < rows.size; ++z) d_x[z] = T(double(d_y[z]) - std::exp(double(y[z])) * sum);
  }
}

std::vector<Value> expand_log_softmax_grad(const ExpandCall& call) {
  const DType dtype = call.inputs[0].dtype();
  const Value y = to_dtype(call, call.inputs[0], wide_type(dtype));
  const Value d_y = to_dtype(call, call.inputs[1], wide_type(dtype));
  const Value share = call.apply("mul", {call.apply("exp", {y}), reduce_row(call, d_y, Reduce::sum)});
  return {to_dtype(call, call.apply("sub", {d_y, share}), dtype)};
}

OpDef log_softmax_grad_op() {
  OpDef op;
  op.name = "log_softmax_grad";
  op.summary = "d_y - exp(y) * sum of d_y over the last dimension";
  op.infer = [](const OpCall& call) { return infer_rows("log_softmax_grad", call, 2); };
  op.rule = [](const OpCall& call) { return einsum("..z,..z->..z | z:expand", call).linear_in({1}); };
  op.expand = expand_log_softmax_grad;
  op.flops_per_point = 4;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      run_log_softmax_grad<T>(rows_of(in[0].type.shape), in[0].as<T>(), in[1].as<T>(), out[0].as<T>());
    });
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}}, {{sample_of({2, 3, 5}), sample_of({2, 3, 5})}}};
  return op;
}

}  // namespace

std::vector<OpDef> log_softmax_ops() { return {log_softmax_op(), log_softmax_grad_op()}; }

}  // namespace partita
