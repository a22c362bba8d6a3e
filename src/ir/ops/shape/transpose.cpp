#include "ir/ops/kernels.h"
#include "ir/ops/shape/attrs.h"

namespace partita {

std::vector<OpDef> transpose_ops() {
  OpDef op = new_op("transpose", "dimension i of the result is dimension perm[i] of x", {.count = 1}, TransposeAttrs{},
                    kFollowsHalves);
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const std::vector<int64_t>& perm = call.attrs.as<TransposeAttrs>().perm;
    const Shape& shape = call.inputs[0].shape;
    std::vector<bool> seen(shape.size(), false);
    bool valid = perm.size() == shape.size();
    for (size_t d = 0; valid && d < perm.size(); ++d) {
      valid = perm[d] >= 0 && perm[d] < static_cast<int64_t>(shape.size()) && !seen[perm[d]];
      if (valid) seen[perm[d]] = true;
    }
    if (!valid) {
      reject("transpose", "not a permutation", fmt::format("[{}] of {}", fmt::join(perm, ","), print(call.inputs[0])),
             fmt::format("each of {} dimensions once", shape.size()));
    }
    Type result{call.inputs[0].dtype, {}};
    for (int64_t from : perm) result.shape.push_back(shape[from]);
    return {result};
  };
  op.rule = [](const OpCall& call) {
    ShardingRule rule = pointwise_rule({call.attrs, call.outputs, call.outputs});
    const std::vector<int64_t>& perm = call.attrs.as<TransposeAttrs>().perm;
    for (size_t d = 0; d < perm.size(); ++d) rule.inputs[0][perm[d]] = rule.outputs[0][d];
    return rule.linear_in({0}, kAnyReduce);
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const std::vector<int64_t>& perm = call.attrs.as<TransposeAttrs>().perm;
    TransposeAttrs inverse{std::vector<int64_t>(perm.size())};
    for (size_t d = 0; d < perm.size(); ++d) inverse.perm[perm[d]] = static_cast<int64_t>(d);
    return {call.apply("transpose", {call.d_outputs[0]}, Attrs(inverse))};
  };
  op.flops_per_point = 0;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const Shape strides = strides_of(in[0].type.shape);
    Visited read;
    for (int64_t d : attrs.as<TransposeAttrs>().perm) read.strides.push_back(strides[d]);
    copy_elements(in[0], read, out[0]);
  };
  op.traits.moves_elements = true;
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const std::string dims = fmt::format(", dims = [{}]", fmt::join(call.attrs.as<TransposeAttrs>().perm, ", "));
    return {call.body.add_typed("stablehlo.transpose", {call.inputs[0]}, dims, call.outputs[0])};
  };
  op.samples = {{{sample_of({4, 3, 5})}, TransposeAttrs{{2, 0, 1}}},
                {{sample_of({4, 6})}, TransposeAttrs{{1, 0}}},
                {{sample_of({2, 3, 5})}, TransposeAttrs{{1, 0, 2}}}};
  return {op};
}

}  // namespace partita
