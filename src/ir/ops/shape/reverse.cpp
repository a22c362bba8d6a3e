#include "ir/ops/kernels.h"

namespace partita {
namespace {

struct ReverseAttrs {
  int64_t axis = 0;
  static constexpr auto fields() { return std::tuple{field("axis", &ReverseAttrs::axis)}; }
};

int64_t reverse_axis(const Attrs& attrs) { return attrs.as<ReverseAttrs>().axis; }

}  // namespace

std::vector<OpDef> reverse_ops() {
  OpDef op =
      new_op("reverse", "the elements in reverse order along an axis", {.count = 1}, ReverseAttrs{}, kFollowsHalves);
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_axis("reverse", call, reverse_axis(call.attrs));
    return {call.inputs[0]};
  };
  op.rule = [](const OpCall& call) { return whole_along(call, reverse_axis(call.attrs)).linear_in({0}, kAnyReduce); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply("reverse", {call.d_outputs[0]}, call.attrs)};
  };
  op.flops_per_point = 0;
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const Hlo& x = call.inputs[0];
    const int64_t axis = reverse_axis(call.attrs);
    return {call.body.add(fmt::format("stablehlo.reverse {}, dims = [{}] : {}", x.name, axis, hlo_type(x.type)),
                          call.outputs[0])};
  };
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const int64_t axis = reverse_axis(attrs);
    Visited read{strides_of(in[0].type.shape)};
    read.first = (in[0].type.shape[axis] - 1) * read.strides[axis];
    read.strides[axis] *= -1;
    copy_elements(in[0], read, out[0]);
  };
  op.traits.moves_elements = true;
  op.samples = {{{sample_of({4, 6})}, ReverseAttrs{.axis = 1}}, {{sample_of({5, 3, 2})}, ReverseAttrs{.axis = 0}}};
  return {op};
}

}  // namespace partita
