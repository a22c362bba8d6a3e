#include "ir/ops/emission.h"
#include "ir/ops/support.h"
#include "ir/ops/update/updates.h"

namespace partita {

std::vector<OpDef> sgd_ops() {
  OpDef op;
  op.name = "sgd";
  op.summary = "(w, g, rate) -> w - rate * (g + weight_decay * w)";
  op.attrs = Attrs(SgdAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("sgd", call, 3);
    require_float("sgd", call);
    require_same_dtype("sgd", call);
    if (call.inputs[1] != call.inputs[0] || !call.inputs[2].shape.empty()) {
      reject("sgd", "operands do not fit", print(call.inputs), "weight, gradient of its shape, scalar rate");
    }
    return {call.inputs[0]};
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.flops_per_point = 4;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const SgdStep<Number> step(attrs.as<SgdAttrs>(), static_cast<Number>(*in[2].as<T>()));
      for (int64_t i = 0; i < in[0].type.elements(); ++i) {
        Number w = static_cast<Number>(in[0].as<T>()[i]);
        step.apply(static_cast<Number>(in[1].as<T>()[i]), w);
        out[0].as<T>()[i] = T(w);
      }
    });
  };
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const Type& type = call.outputs[0];
    const SgdStep<Traced> step(call.attrs.as<SgdAttrs>(),
                               computed_operand(call, call.broadcast(call.inputs[2], type.shape)));
    Traced w = computed_operand(call, call.inputs[0]);
    step.apply(computed_operand(call, call.inputs[1]), w);
    return {rounded_result(call, w, type)};
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6}), sample_of({}, Fill::positive)}, Attrs(SgdAttrs{0})},
                {{sample_of({5}), sample_of({5}), sample_of({}, Fill::positive)}, Attrs(SgdAttrs{0.1})}};
  return {op};
}

}  // namespace partita
