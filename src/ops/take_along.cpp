#include "ops/along.h"

namespace partita {
namespace {

struct TakeAlongAttrs {
  int64_t begin = 0;  // global index of the first column that is held
  int64_t total = 0;  // columns of the whole; 0: those of the operand
  static constexpr auto fields() {
    return std::tuple{field("begin", &TakeAlongAttrs::begin), field("total", &TakeAlongAttrs::total)};
  }
};

int64_t take_along_total_of(const TakeAlongAttrs& attrs, int64_t held) { return attrs.total > 0 ? attrs.total : held; }

std::vector<Type> infer_take_along(const OpCall& call) {
  require_along("take_along", call, /*equal_last=*/false);
  const TakeAlongAttrs& attrs = call.attrs.as<TakeAlongAttrs>();
  const int64_t held = call.inputs[0].shape.back(), total = take_along_total_of(attrs, held);
  if (attrs.begin < 0 || attrs.total < 0 || held > total || attrs.begin > total - held) {
    reject("take_along", "the columns are outside the tensor", call.attrs.print() + " of " + print(call.inputs[0]),
           "0 <= begin and begin + columns held <= total");
  }
  return {Type{call.inputs[0].dtype, call.inputs[1].shape}};
}

}  // namespace

OpDef take_along_op() {
  OpDef op;
  op.name = "take_along";
  op.summary = "x[.., indices[.., k]]";
  op.attrs = Attrs(TakeAlongAttrs{});
  op.infer = infer_take_along;
  op.rule = [](const OpCall& call) { return einsum("..z,..k->..k | z:lookup", call).linear_in({0}); };
  op.localize = [](const Attrs& all, const Shard& shard) {
    const Range& held = shard.inputs[0].back();
    const TakeAlongAttrs& attrs = all.as<TakeAlongAttrs>();
    if (held.whole()) return all;
    return Attrs(TakeAlongAttrs{attrs.begin + held.begin, take_along_total_of(attrs, held.size)});
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const TakeAlongAttrs& attrs = call.attrs.as<TakeAlongAttrs>();
    const int64_t held = call.inputs[0].shape().back();
    return {call.builder.apply_fields("put_along", {call.d_outputs[0], call.inputs[1]},
                                      {{"size", to_text(held)},
                                       {"begin", to_text(attrs.begin)},
                                       {"total", to_text(take_along_total_of(attrs, held))}}),
            Value()};
  };
  op.flops_per_point = 0;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const TakeAlongAttrs& attrs = all.as<TakeAlongAttrs>();
    const int64_t held = in[0].type.shape.back(), width = in[1].type.shape.back(),
                  total = take_along_total_of(attrs, held);
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* x = in[0].as<T>();
      T* y = out[0].as<T>();
      for_integer(in[1].type.dtype, [&](auto id_zero) {
        const auto* indices = in[1].as<decltype(id_zero)>();
        for (int64_t i = 0; i < out[0].type.elements(); ++i) {
          const auto index = static_cast<int64_t>(indices[i]);
          require_index("take_along", index, total);
          const int64_t column = index - attrs.begin;
          y[i] = column >= 0 && column < held ? x[i / width * held + column] : T{};
        }
      });
    });
  };
  op.samples = {{{sample_of({4, 6}), ids_of({4, 3}, 6)}, Attrs(TakeAlongAttrs{})},
                {{sample_of({2, 3, 5}), ids_of({2, 3, 7}, 5)}, Attrs(TakeAlongAttrs{})},
                {{sample_of({5}), ids_of({4}, 5)}, Attrs(TakeAlongAttrs{})},
                {{sample_of({5, 3}), ids_of({5, 4}, 6)}, Attrs(TakeAlongAttrs{2, 6})}};
  return op;
}

}  // namespace partita
