#include "ir/ops/shape/attrs.h"
#include "ir/ops/sizes.h"
#include "ir/ops/support.h"
#include "ir/sharding/box_runs.h"

namespace partita {

std::vector<OpDef> reshape_ops() {
  OpDef op = new_op("reshape", "the same elements in another shape", {.count = 1}, ReshapeAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const Shape& shape = call.attrs.as<ReshapeAttrs>().shape;
    require_shape("reshape", shape);
    if (elements(shape) != call.inputs[0].elements()) {
      reject("reshape", "wrong number of elements", print(call.inputs[0]) + " to " + print(shape),
             fmt::format("{} elements", call.inputs[0].elements()));
    }
    return {Type{call.inputs[0].dtype, shape}};
  };
  op.rule = [](const OpCall& call) {
    return reshape_rule(call.inputs[0].shape, call.outputs[0].shape).linear_in({0}, kAnyReduce);
  };
  op.localize = [](const Attrs&, const Shard& shard) -> Attrs { return ReshapeAttrs{shape_of(shard.outputs[0])}; };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("reshape", {call.d_outputs[0]}, ReshapeAttrs{call.inputs[0].shape()})};
  };
  op.flops_per_point = 0;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    const auto* from = static_cast<const std::byte*>(in[0].data);
    std::copy(from, from + in[0].type.bytes(), static_cast<std::byte*>(out[0].data));
  };
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    return {call.reshape(call.inputs[0], call.outputs[0].shape)};
  };
  op.traits = {.halves = {.results = 1, .follow = true}, .moves_elements = true, .degree = degree_of_first};
  op.traits.take_place = takes_shape<ReshapeAttrs>();
  op.samples = {{{sample_of({2, 3, 8})}, ReshapeAttrs{{2, 3, 4, 2}}},
                {{sample_of({2, 3, 4, 2})}, ReshapeAttrs{{6, 8}}},
                {{sample_of({6, 2})}, ReshapeAttrs{{4, 3}}},
                {{sample_of({4, 3, 5})}, ReshapeAttrs{{3, 4, 5}}}};
  return {op};
}

}  // namespace partita
