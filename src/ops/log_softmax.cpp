#include "ops/softmax.h"

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

}  // namespace

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

}  // namespace partita
