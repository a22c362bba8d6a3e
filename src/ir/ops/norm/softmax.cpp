#include "ir/ops/norm/softmax.h"

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

struct Softmax {
  static double of_sum(double sum) { return sum; }
  static double result(double x, double largest, double sum) { return std::exp(x - largest) / sum; }
  static Value expanded(const ExpandCall& call, const Shifted& row) {
    return call.apply("div", {row.exponential, row.sum});
  }
  static double term(double y, double d_y) { return y * d_y; }
  static double slope(double y, double d_y, double sum) { return y * (d_y - sum); }
  static Value expanded_grad(const ExpandCall& call, Value y, Value d_y) {
    const Value sum = reduce_row(call, call.apply("mul", {y, d_y}), Reduce::sum);
    return call.apply("mul", {y, call.apply("sub", {d_y, sum})});
  }
};

}  // namespace

std::vector<OpDef> softmax_ops() {
  return softmax_family<Softmax>("softmax", "exp(x) / sum of exp(x) over the last dimension",
                                 "y * (d_y - sum of y * d_y over the last dimension)");
}

}  // namespace partita
