#include "ir/ops/emission.h"
#include "ir/ops/support.h"
#include "ir/ops/update/updates.h"

namespace partita {

std::vector<OpDef> momentum_ops() {
  OpDef op;
  op.name = "momentum";
  op.summary =
      "(w, g, v, rate): g += weight_decay w; v = momentum v + (1 - dampening) g; "
      "w -= rate (nesterov ? g + momentum v : v)";
  op.attrs = Attrs(MomentumAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("momentum", call, 4);
    require_float("momentum", call);
    require_same_dtype("momentum", call);
    if (call.inputs[1] != call.inputs[0] || call.inputs[2] != call.inputs[0] || !call.inputs[3].shape.empty()) {
      reject("momentum", "operands do not fit", print(call.inputs),
             "weight, gradient and velocity of its shape, scalar rate");
    }
    return {call.inputs[0], call.inputs[0]};
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.flops_per_point = 6;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const MomentumAttrs& attrs = all.as<MomentumAttrs>();
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const MomentumStep<Number> step(attrs, static_cast<Number>(*in[3].as<T>()));
      for (int64_t i = 0; i < in[0].type.elements(); ++i) {
        Number w = static_cast<Number>(in[0].as<T>()[i]), v = static_cast<Number>(in[2].as<T>()[i]);
        step.apply(static_cast<Number>(in[1].as<T>()[i]), w, v);
        out[0].as<T>()[i] = T(w);
        out[1].as<T>()[i] = T(v);
      }
    });
  };
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const Type& type = call.outputs[0];
    const MomentumStep<Traced> step(call.attrs.as<MomentumAttrs>(),
                                    computed_operand(call, call.broadcast(call.inputs[3], type.shape)));
    Traced w = computed_operand(call, call.inputs[0]), v = computed_operand(call, call.inputs[2]);
    step.apply(computed_operand(call, call.inputs[1]), w, v);
    return {rounded_result(call, w, type), rounded_result(call, v, type)};
  };
  const std::vector<SampleInput> operands{sample_of({4, 6}), sample_of({4, 6}), sample_of({4, 6}),
                                          sample_of({}, Fill::positive)};
  op.samples = {{operands, Attrs(MomentumAttrs{0.9, 0, false, 0})},
                {operands, Attrs(MomentumAttrs{0.8, 0.1, true, 0.01})}};
  return {op};
}

}  // namespace partita
