#include "ops/support.h"

namespace partita {
namespace {

struct PickAttrs {
  int64_t begin = 0;  // global index of the first column that is held
  static constexpr auto fields() { return std::tuple{field("begin", &PickAttrs::begin)}; }
};

}  // namespace

OpDef pick_op() {
  OpDef op;
  op.name = "pick";
  op.summary = "x[.., label[..]]; 0 for a label without a column";
  op.attrs = Attrs(PickAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("pick", call, 2);
    require_float("pick", call);
    const Type &x = call.inputs[0], &label = call.inputs[1];
    const bool integers = label.dtype == DType::i32 || label.dtype == DType::i64;
    if (!integers || x.shape.empty() || Shape(x.shape.begin(), x.shape.end() - 1) != label.shape) {
      reject("pick", "operands do not fit", print(call.inputs), "rows and one integer label for each");
    }
    if (call.attrs.as<PickAttrs>().begin < 0) reject("pick", "bad begin", call.attrs.print(), "at least 0");
    return {Type{x.dtype, label.shape}};
  };
  op.rule = [](const OpCall& call) { return einsum("..z,..->.. | z:lookup", call).linear_in({0}); };
  op.localize = [](const Attrs& attrs, const Shard& shard) {
    return Attrs(PickAttrs{attrs.as<PickAttrs>().begin + shard.inputs[0].back().begin});
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const int64_t depth = call.inputs[0].shape().back();
    const Value hot = call.builder.apply_fields("one_hot", {call.inputs[1]},
                                                {{"depth", to_text(depth)},
                                                 {"begin", to_text(call.attrs.as<PickAttrs>().begin)},
                                                 {"dtype", to_text(call.inputs[0].dtype())}});
    Shape kept = call.inputs[1].shape();
    kept.push_back(1);
    const Value d = call.builder.apply_fields("reshape", {call.d_outputs[0]}, {{"shape", to_text(kept)}});
    return {call.apply("mul", {hot, d}), Value()};
  };
  op.flops_per_point = 0;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const int64_t columns = in[0].type.shape.back(), begin = attrs.as<PickAttrs>().begin;
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* x = in[0].as<T>();
      T* y = out[0].as<T>();
      for_integer(in[1].type.dtype, [&](auto id_zero) {
        const auto* label = in[1].as<decltype(id_zero)>();
        for (int64_t i = 0; i < out[0].type.elements(); ++i) {
          const int64_t id = static_cast<int64_t>(label[i]);
          y[i] = id >= begin && id - begin < columns ? x[i * columns + id - begin] : T{};
        }
      });
    });
  };
  op.samples = {{{sample_of({4, 6}), ids_of({4}, 6)}, Attrs(PickAttrs{})},
                {{sample_of({2, 3, 5}), ids_of({2, 3}, 5)}, Attrs(PickAttrs{})},
                {{sample_of({5, 3}), ids_of({5}, 6)}, Attrs(PickAttrs{2})}};
  return op;
}

}  // namespace partita
