#include "ir/ops/kernels.h"
#include "ir/ops/shape/attrs.h"
#include "ir/ops/sizes.h"

namespace partita {
namespace {

std::vector<Type> infer_slice(const OpCall& call) {
  const SliceAttrs& attrs = call.attrs.as<SliceAttrs>();
  const Shape& shape = call.inputs[0].shape;
  bool valid = attrs.begin.size() == shape.size() && attrs.end.size() == shape.size();
  for (size_t d = 0; valid && d < shape.size(); ++d) {
    valid = 0 <= attrs.begin[d] && attrs.begin[d] <= attrs.end[d] && attrs.end[d] <= shape[d];
  }
  if (!valid) {
    reject("slice", "bounds are outside the tensor", call.attrs.print() + " of " + print(call.inputs[0]),
           "0 <= begin <= end <= size per dimension", ErrorKind::index);
  }
  Type result{call.inputs[0].dtype, {}};
  for (size_t d = 0; d < shape.size(); ++d) result.shape.push_back(attrs.end[d] - attrs.begin[d]);
  return {result};
}

/// Sets the map of a tensor that `part` is cut from, or padded to, in a rule in which both have the factors of the
/// larger one. A dimension of which it has a part is whole on both sides, and the two sides are different factors.
void set_part(ShardingRule& rule, const TensorMap& larger, const Shape& whole, const Shape& part, TensorMap& map) {
  for (size_t d = 0; d < whole.size(); ++d) {
    if (whole[d] == part[d]) continue;
    for (int factor : larger[d].factors) {
      rule.factors[factor].cutting = Cutting::whole;
      rule.factors[factor].reduce = Reduce::none;
    }
    map[d] = {};
    if (part[d] == 1) continue;
    map[d].factors = {static_cast<int>(rule.factors.size())};
    rule.factors.push_back(
        {.name = static_cast<char>('A' + d), .size = part[d], .cutting = Cutting::whole, .contributes_flops = false});
  }
}

ShardingRule rule_slice(const OpCall& call) {
  ShardingRule rule = pointwise_rule({call.attrs, call.inputs, call.inputs});
  set_part(rule, rule.inputs[0], call.inputs[0].shape, call.outputs[0].shape, rule.outputs[0]);
  return rule.linear_in({0}, kAnyReduce);
}

/// The elements from `begin` on of a dense tensor.
Visited visited_from(const Shape& shape, const std::vector<int64_t>& begin) {
  Visited visited{strides_of(shape)};
  for (size_t d = 0; d < begin.size(); ++d) visited.first += begin[d] * visited.strides[d];
  return visited;
}

OpDef slice_op() {
  OpDef op =
      new_op("slice", "the elements from begin to end of each dimension", {.count = 1}, SliceAttrs{}, kFollowsHalves);
  op.flops_per_point = 0;
  op.infer = infer_slice;
  op.rule = rule_slice;
  op.localize = localized<SliceAttrs>([](SliceAttrs& attrs, const Shard& shard) {
    for (size_t d = 0; d < attrs.end.size(); ++d) {
      const Range& range = shard.outputs[0][d];
      if (!range.whole()) attrs.end[d] = attrs.begin[d] + range.count();
    }
  });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const SliceAttrs& attrs = call.attrs.as<SliceAttrs>();
    std::vector<int64_t> after;
    for (size_t d = 0; d < attrs.end.size(); ++d) after.push_back(call.inputs[0].shape()[d] - attrs.end[d]);
    return {call.apply("pad", {call.d_outputs[0]}, PadAttrs{.before = attrs.begin, .after = after})};
  };
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const SliceAttrs& attrs = call.attrs.as<SliceAttrs>();
    std::string bounds;
    for (size_t d = 0; d < attrs.begin.size(); ++d) {
      bounds += fmt::format("{}{}:{}", d == 0 ? "" : ", ", attrs.begin[d], attrs.end[d]);
    }
    return {call.body.add_typed("stablehlo.slice", {call.inputs[0]}, fmt::format(" [{}]", bounds), call.outputs[0])};
  };
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    copy_elements(in[0], visited_from(in[0].type.shape, attrs.as<SliceAttrs>().begin), out[0]);
  };
  op.samples = {{{sample_of({4, 6})}, SliceAttrs{{0, 1}, {4, 5}}}, {{sample_of({5, 3})}, SliceAttrs{{2, 0}, {3, 3}}}};
  return op;
}

std::vector<Type> infer_pad(const OpCall& call) {
  const PadAttrs& attrs = call.attrs.as<PadAttrs>();
  const Shape& shape = call.inputs[0].shape;
  bool valid = attrs.before.size() == shape.size() && attrs.after.size() == shape.size();
  for (size_t d = 0; valid && d < shape.size(); ++d) {
    for (int64_t zeros : {attrs.before[d], attrs.after[d]}) valid = valid && zeros >= 0 && zeros <= kMaxElements;
  }
  if (!valid) {
    reject("pad", "bad padding", call.attrs.print() + " of " + print(call.inputs[0]),
           "a number of at least 0 before and after each dimension");
  }
  Type result{call.inputs[0].dtype, {}};
  for (size_t d = 0; d < shape.size(); ++d) result.shape.push_back(attrs.before[d] + shape[d] + attrs.after[d]);
  require_shape("pad", result.shape);
  return {result};
}

ShardingRule rule_pad(const OpCall& call) {
  ShardingRule rule = pointwise_rule({call.attrs, call.outputs, call.outputs});
  set_part(rule, rule.outputs[0], call.outputs[0].shape, call.inputs[0].shape, rule.inputs[0]);
  return rule.linear_in({0});
}

OpDef pad_op() {
  OpDef op = new_op("pad", "x with zeros before and after each dimension", {.count = 1}, PadAttrs{}, kFollowsHalves);
  op.flops_per_point = 0;
  op.infer = infer_pad;
  op.rule = rule_pad;
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const PadAttrs& attrs = call.attrs.as<PadAttrs>();
    std::vector<int64_t> end;
    for (size_t d = 0; d < attrs.before.size(); ++d) end.push_back(attrs.before[d] + call.inputs[0].shape()[d]);
    return {call.apply("slice", {call.d_outputs[0]}, SliceAttrs{.begin = attrs.before, .end = end})};
  };
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const PadAttrs& attrs = call.attrs.as<PadAttrs>();
    const Hlo& x = call.inputs[0];
    const std::string sizes = fmt::format(", low = [{}], high = [{}], interior = [{}]", fmt::join(attrs.before, ", "),
                                          fmt::join(attrs.after, ", "), fmt::join(Shape(x.type.shape.size(), 0), ", "));
    return {call.body.add_typed("stablehlo.pad", {x, call.splat(0, {x.type.dtype, {}})}, sizes, call.outputs[0])};
  };
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    std::fill_n(static_cast<std::byte*>(out[0].data), out[0].type.bytes(), std::byte{});
    const Shape& x = in[0].type.shape;
    copy_elements(x, in[0], {strides_of(x)}, out[0], visited_from(out[0].type.shape, attrs.as<PadAttrs>().before));
  };
  op.samples = {{{sample_of({4, 3})}, PadAttrs{{0, 1}, {0, 2}}}, {{sample_of({5, 1})}, PadAttrs{{0, 1}, {0, 0}}}};
  return op;
}

}  // namespace

std::vector<OpDef> slice_ops() { return {slice_op(), pad_op()}; }

}  // namespace partita
