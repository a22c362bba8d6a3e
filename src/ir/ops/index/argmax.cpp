#include <limits>

#include "base/number.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/kernels.h"
#include "ir/ops/reduce/attrs.h"

namespace partita {
namespace {

/// Returns the index of the largest element, the first of equal ones; 0 if there are none. A NaN counts as the largest,
/// as in a maximum over parts.
template <class T>
int64_t largest_argmax(const T* x, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (!is_nan(x[best]) && (x[i] > x[best] || is_nan(x[i]))) best = i;
  }
  return best;
}

OpDef argmax_op() {
  OpDef op = new_op("argmax", "index of the largest x[.., z]; the lowest of equal ones, or of NaNs", {.count = 1});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const Shape& shape = call.inputs[0].shape;
    if (shape.empty() || shape.back() == 0) {
      reject("argmax", "no elements", print(call.inputs[0]), "a last dimension of at least 1");
    }
    return {Type{DType::i64, Shape(shape.begin(), shape.end() - 1)}};
  };
  op.rule = [](const OpCall& call) { return einsum("..z->.. | z:expand", call); };
  op.expand = [](const ExpandCall& call) -> std::vector<Value> {
    const std::vector<int64_t> last{call.inputs[0].type().rank() - 1};
    const Value m =
        call.apply("reduce", {call.inputs[0]}, ReduceAttrs{.kind = Reduce::max, .axes = last, .keep_dims = true});
    return {call.apply("first_equal", {call.inputs[0], m})};
  };
  op.kernel = number_kernel([]<class T>(Inputs in, Outputs out) {
    const int64_t columns = in[0].type.shape.back();
    const T* x = in[0].as<T>();
    int64_t* y = out[0].as<int64_t>();
    for (int64_t i = 0; i < out[0].type.elements(); ++i, x += columns) y[i] = largest_argmax(x, columns);
  });
  op.samples = {{{sample_of({4, 6}, Fill::distinct)}}, {{ids_of({3, 5}, 3)}}};
  return op;
}

constexpr auto run_first_equal = []<class T>(const FirstEqualAttrs& attrs, Inputs in, Outputs out) {
  const int64_t columns = in[0].type.shape.back();
  const T *x = in[0].as<T>(), *m = in[1].as<T>();
  int64_t* y = out[0].as<int64_t>();
  for (int64_t i = 0; i < out[0].type.elements(); ++i, x += columns) {
    y[i] = std::numeric_limits<int64_t>::max();
    for (int64_t z = columns - 1; z >= 0; --z) {
      if (x[z] == m[i] || (is_nan(x[z]) && is_nan(m[i]))) y[i] = attrs.begin + z;
    }
  }
};

OpDef first_equal_op() {
  OpDef op = new_op("first_equal",
                    "index of the first x[.., z] equal to m[.., 0] (NaN to NaN); the largest i64 when there is none",
                    {.count = 2, .same_dtype = true}, FirstEqualAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    Shape rows = call.inputs[0].shape;
    if (!rows.empty()) rows.back() = 1;
    if (rows.empty() || rows != call.inputs[1].shape) {
      reject("first_equal", "operands do not fit", print(call.inputs), "x[.., z] and m[.., 1]");
    }
    const int64_t begin = call.attrs.as<FirstEqualAttrs>().begin;
    if (begin < 0 || begin > std::numeric_limits<int64_t>::max() - call.inputs[0].shape.back()) {
      reject("first_equal", "bad begin", call.attrs.print(), "at least 0, with indices that an i64 holds");
    }
    rows.pop_back();
    return {Type{DType::i64, rows}};
  };
  op.rule = [](const OpCall& call) { return einsum("..z,..1->.. | z:min", call); };
  op.localize = localized<FirstEqualAttrs>(localize_first_column);
  op.grad = no_gradients;
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const Hlo &x = call.inputs[0], m = call.broadcast(call.inputs[1], x.type.shape);
    Hlo equal = call.compare("EQ", x, m);
    if (is_float(x.type.dtype)) {
      const Hlo nan = call.body.add_same("stablehlo.and", {call.compare("NE", x, x), call.compare("NE", m, m)});
      equal = call.body.add_same("stablehlo.or", {equal, nan});
    }
    const Type indices{DType::i64, x.type.shape};
    const int64_t last = indices.rank() - 1, none = std::numeric_limits<int64_t>::max();
    const Hlo steps = call.body.add(fmt::format("stablehlo.iota dim = {} : {}", last, hlo_type(indices)), indices);
    const Hlo begin = call.begin(call.attrs.as<FirstEqualAttrs>().begin, indices);
    const Hlo column = call.body.add_same("stablehlo.add", {steps, begin});
    return {call.reduce(call.select(equal, column, call.splat_integer(none, indices)), "minimum",
                        call.splat_integer(none, {DType::i64, {}}), {last})};
  };
  op.traits.take_place = takes_begin<FirstEqualAttrs>();
  op.kernel = number_kernel<FirstEqualAttrs>(run_first_equal);
  op.samples = {{{ids_of({4, 6}, 2), ids_of({4, 1}, 2)}, FirstEqualAttrs{}},
                {{ids_of({2, 3, 5}, 2), ids_of({2, 3, 1}, 2)}, FirstEqualAttrs{3}}};
  return op;
}

}  // namespace

std::vector<OpDef> argmax_ops() { return {argmax_op(), first_equal_op()}; }

}  // namespace partita
