#include "base/number.h"
#include "ops/support.h"

namespace partita {
namespace {

/// The first NaN when there is one: as a maximum over parts finds it.
template <class T>
int64_t largest_argmax(const T* x, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (!is_nan(x[best]) && (x[i] > x[best] || is_nan(x[i]))) best = i;
  }
  return best;
}

}  // namespace

OpDef argmax_op() {
  OpDef op;
  op.name = "argmax";
  op.summary = "index of the largest x[.., z]; the lowest of equal ones, or of NaNs";
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("argmax", call, 1);
    const Shape& shape = call.inputs[0].shape;
    if (shape.empty() || shape.back() == 0) {
      reject("argmax", "no elements", print(call.inputs[0]), "a last dimension of at least 1");
    }
    return {Type{DType::i64, Shape(shape.begin(), shape.end() - 1)}};
  };
  op.rule = [](const OpCall& call) { return einsum("..z->.. | z:expand", call); };
  op.expand = [](const ExpandCall& call) -> std::vector<Value> {
    const std::vector<int64_t> last{call.inputs[0].type().rank() - 1};
    const Value m = call.builder.apply_fields("reduce", {call.inputs[0]},
                                              {{"kind", "max"}, {"axes", to_text(last)}, {"keep_dims", "true"}});
    return {call.apply("first_equal", {call.inputs[0], m})};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    const int64_t columns = in[0].type.shape.back();
    for_dtype(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* x = in[0].as<T>();
      int64_t* y = out[0].as<int64_t>();
      for (int64_t i = 0; i < out[0].type.elements(); ++i, x += columns) y[i] = largest_argmax(x, columns);
    });
  };
  op.samples = {{{sample_of({4, 6}, Fill::distinct)}}, {{ids_of({3, 5}, 3)}}};
  return op;
}

}  // namespace partita
