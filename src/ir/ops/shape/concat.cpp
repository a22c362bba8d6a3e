#include "ir/ops/shape/attrs.h"
#include "ir/ops/support.h"

namespace partita {
namespace {

std::vector<Type> infer_concat(const OpCall& call) {
  const int64_t axis = call.attrs.as<ConcatAttrs>().axis;
  if (call.inputs.empty()) reject("concat", "no operands", "0", "at least 1");
  Type result = call.inputs[0];
  if (axis < 0 || axis >= result.rank()) {
    reject("concat", "axis is outside the tensor", fmt::format("axis {} of {}", axis, print(result)),
           fmt::format("0 to {}", result.rank() - 1), ErrorKind::index);
  }
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    Shape other = call.inputs[i].shape;
    if (other.size() == result.shape.size()) other[axis] = result.shape[axis];
    if (other != result.shape) {
      reject("concat", "shapes differ", print(call.inputs), "equal sizes except along the axis");
    }
    result.shape[axis] += call.inputs[i].shape[axis];
  }
  return {result};
}

ShardingRule rule_concat(const OpCall& call) {
  const int64_t axis = call.attrs.as<ConcatAttrs>().axis;
  ShardingRule rule_concat = pointwise_rule({call.attrs, call.outputs, call.outputs});
  for (int factor : rule_concat.outputs[0][axis].factors) rule_concat.factors[factor].cutting = Cutting::whole;
  rule_concat.inputs.clear();
  Linear all{{}, kAnyReduce};
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    TensorMap map = rule_concat.outputs[0];
    map[axis] = {};
    if (call.inputs[i].shape[axis] != 1) {
      map[axis].factors = {static_cast<int>(rule_concat.factors.size())};
      rule_concat.factors.push_back({.name = static_cast<char>('A' + i % 26),
                                     .size = call.inputs[i].shape[axis],
                                     .cutting = Cutting::whole,
                                     .contributes_flops = false});
    }
    rule_concat.inputs.push_back(std::move(map));
    all.operands.push_back(static_cast<int>(i));
  }
  rule_concat.linear.push_back(std::move(all));
  return rule_concat;
}

}  // namespace

std::vector<OpDef> concat_ops() {
  OpDef op = new_op("concat", "operands one after the other along an axis", {.same_dtype = true}, ConcatAttrs{},
                    kFollowsHalves);
  op.infer = infer_concat;
  op.rule = rule_concat;
  op.grad = [](const GradCall& call) {
    const int64_t axis = call.attrs.as<ConcatAttrs>().axis;
    std::vector<Value> gradients;
    int64_t at = 0;
    for (const Value& input : call.inputs) {
      Shape begin(input.shape().size(), 0), end = input.shape();
      begin[axis] = at;
      end[axis] = at += input.shape()[axis];
      gradients.push_back(call.apply("slice", {call.d_outputs[0]}, SliceAttrs{.begin = begin, .end = end}));
    }
    return gradients;
  };
  op.flops_per_point = 0;
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const std::string dim = fmt::format(", dim = {}", call.attrs.as<ConcatAttrs>().axis);
    return {call.body.add_typed("stablehlo.concatenate", call.inputs, dim, call.outputs[0])};
  };
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const int64_t axis = attrs.as<ConcatAttrs>().axis;
    const Shape& shape = out[0].type.shape;
    int64_t outer = 1;
    for (int64_t d = 0; d < axis; ++d) outer *= shape[d];
    auto* to = static_cast<std::byte*>(out[0].data);
    for (int64_t i = 0; i < outer; ++i) {
      for (const ConstTensor& part : in) {
        const int64_t run = part.type.bytes() / outer;
        const auto* from = static_cast<const std::byte*>(part.data) + i * run;
        to = std::copy(from, from + run, to);
      }
    }
  };
  op.traits.moves_elements = true;
  op.samples = {{{sample_of({4, 2}), sample_of({4, 3})}, ConcatAttrs{1}},
                {{sample_of({2, 5}), sample_of({1, 5}), sample_of({3, 5})}, ConcatAttrs{0}},
                {{sample_of({2, 5}), sample_of({0, 5}), sample_of({3, 5})}, ConcatAttrs{0}}};
  return {op};
}

}  // namespace partita
