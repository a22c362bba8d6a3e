#include "ir/ops/norm/softmax.h"

namespace partita {
namespace {

constexpr auto run_log_softmax = []<class T>(Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.size, y += rows.size) {
    const auto [largest, sum] = largest_and_sum(x, rows.size);
    const double log_sum = std::log(sum);
    for (int64_t z = 0; z < rows.size; ++z) y[z] = T(double(x[z]) - largest - log_sum);
  }
};

OpDef log_softmax_op() {
  OpDef op = rows_op("log_softmax", "x - log of the sum of exp(x) over the last dimension", 1);
  op.expand = [](const ExpandCall& call) -> std::vector<Value> {
    const Shifted row = shift_row(call, call.inputs[0]);
    const Value y = call.apply("sub", {row.difference, call.apply("log", {row.sum})});
    return {to_dtype(call, y, call.inputs[0].dtype())};
  };
  op.flops_per_point = 5;
  op.kernel = float_kernel<double>(run_log_softmax);
  op.samples = {{{sample_of({4, 6})}}, {{sample_of({2, 3, 5})}}};
  return op;
}

constexpr auto run_log_softmax_grad = []<class T>(Inputs in, Outputs out) {
  const Rows rows = rows_of(in[0].type.shape);
  const T *y = in[0].as<T>(), *d_y = in[1].as<T>();
  T* d_x = out[0].as<T>();
  for (int64_t row = 0; row < rows.count; ++row, y += rows.size, d_y += rows.size, d_x += rows.size) {
    double sum = 0;
    for (int64_t z = 0; z < rows.size; ++z) sum += double(d_y[z]);
    for (int64_t z = 0; z < rows.size; ++z) d_x[z] = T(double(d_y[z]) - std::exp(double(y[z])) * sum);
  }
};

OpDef log_softmax_grad_op() {
  OpDef op = rows_op("log_softmax_grad", "d_y - exp(y) * sum of d_y over the last dimension", 2);
  op.expand = [](const ExpandCall& call) -> std::vector<Value> {
    const DType dtype = call.inputs[0].dtype();
    const Value y = to_dtype(call, call.inputs[0], wide_type(dtype));
    const Value d_y = to_dtype(call, call.inputs[1], wide_type(dtype));
    const Value share = call.apply("mul", {call.apply("exp", {y}), reduce_row(call, d_y, Reduce::sum)});
    return {to_dtype(call, call.apply("sub", {d_y, share}), dtype)};
  };
  op.flops_per_point = 4;
  op.kernel = float_kernel<double>(run_log_softmax_grad);
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6})}}, {{sample_of({2, 3, 5}), sample_of({2, 3, 5})}}};
  return op;
}

}  // namespace

std::vector<OpDef> log_softmax_ops() { return {log_softmax_op(), log_softmax_grad_op()}; }

}  // namespace partita
