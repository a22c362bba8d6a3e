#include "ir/ops/kernels.h"
#include "ir/ops/shape/attrs.h"
#include "ir/ops/sizes.h"
#include "ir/sharding/box_runs.h"

namespace partita {

std::vector<OpDef> broadcast_to_ops() {
  OpDef op = new_op("broadcast_to", "x repeated along its dimensions of size 1, and along new leading ones",
                    {.count = 1}, BroadcastAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const Shape& shape = call.attrs.as<BroadcastAttrs>().shape;
    require_shape("broadcast_to", shape);
    if (broadcast("broadcast_to", call.inputs[0].shape, shape) != shape) {
      reject("broadcast_to", "x does not broadcast", print(call.inputs[0]) + " to " + print(shape),
             "equal sizes or 1 from the right");
    }
    return {Type{call.inputs[0].dtype, shape}};
  };
  op.rule = [](const OpCall& call) { return pointwise_rule(call).linear_in({0}, kAnyReduce); };
  op.localize = [](const Attrs&, const Shard& shard) -> Attrs { return BroadcastAttrs{shape_of(shard.outputs[0])}; };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {sum_to(call, call.d_outputs[0], call.inputs[0].type())};
  };
  op.flops_per_point = 0;
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    return {call.broadcast(call.inputs[0], call.outputs[0].shape)};
  };
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    copy_elements(in[0], {broadcast_strides(in[0].type.shape, out[0].type.shape)}, out[0]);
  };
  op.traits = {.halves = {.results = 1, .follow = true}, .moves_elements = true, .degree = degree_of_first};
  op.traits.take_place = takes_shape<BroadcastAttrs>();
  op.samples = {{{sample_of({4, 1})}, BroadcastAttrs{{4, 6}}},
                {{sample_of({})}, BroadcastAttrs{{5}}},
                {{sample_of({3})}, BroadcastAttrs{{2, 4, 3}}}};
  return {op};
}

}  // namespace partita
