#include <limits>

#include "base/number.h"
#include "ops/support.h"

namespace partita {
namespace {

struct FirstEqualAttrs {
  int64_t begin = 0;  // global index of the first column that is held
  static constexpr auto fields() { return std::tuple{field("begin", &FirstEqualAttrs::begin)}; }
};

}  // namespace

OpDef first_equal_op() {
  OpDef op;
  op.name = "first_equal";
  op.summary = "index of the first x[.., z] equal to m[.., 0] (NaN to NaN); the largest i64 when there is none";
  op.attrs = Attrs(FirstEqualAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("first_equal", call, 2);
    require_same_dtype("first_equal", call);
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
  op.localize = [](const Attrs& attrs, const Shard& shard) {
    return Attrs(FirstEqualAttrs{attrs.as<FirstEqualAttrs>().begin + shard.inputs[0].back().begin});
  };
  op.grad = [](const GradCall&) -> std::vector<Value> { return {Value(), Value()}; };
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const int64_t columns = in[0].type.shape.back(), begin = attrs.as<FirstEqualAttrs>().begin;
    for_dtype(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T *x = in[0].as<T>(), *m = in[1].as<T>();
      int64_t* y = out[0].as<int64_t>();
      for (int64_t i = 0; i < out[0].type.elements(); ++i, x += columns) {
        y[i] = std::numeric_limits<int64_t>::max();
        for (int64_t z = columns - 1; z >= 0; --z) {
          if (x[z] == m[i] || (is_nan(x[z]) && is_nan(m[i]))) y[i] = begin + z;
        }
      }
    });
  };
  op.samples = {{{ids_of({4, 6}, 2), ids_of({4, 1}, 2)}, Attrs(FirstEqualAttrs{})},
                {{ids_of({2, 3, 5}, 2), ids_of({2, 3, 1}, 2)}, Attrs(FirstEqualAttrs{3})}};
  return op;
}

}  // namespace partita
