#include "ir/ops/shape/attrs.h"
#include "ir/ops/sizes.h"
#include "ir/ops/support.h"

namespace partita {
namespace {

std::vector<Type> infer_slice(const OpCall& call) {
  require_operands("slice", call, 1);
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

/// Returns the rule: a sliced dimension is whole on both sides, and the two sides are different factors.
ShardingRule rule_slice(const OpCall& call) {
  ShardingRule rule_slice = pointwise_rule({call.attrs, call.inputs, call.inputs});
  for (size_t d = 0; d < call.inputs[0].shape.size(); ++d) {
    if (call.inputs[0].shape[d] == call.outputs[0].shape[d]) continue;
    for (int factor : rule_slice.inputs[0][d].factors) {
      rule_slice.factors[factor].cutting = Cutting::whole;
      rule_slice.factors[factor].reduce = Reduce::none;
    }
    rule_slice.outputs[0][d] = {};
    if (call.outputs[0].shape[d] == 1) continue;
    const char name = static_cast<char>('A' + d);
    rule_slice.outputs[0][d].factors = {static_cast<int>(rule_slice.factors.size())};
    const int64_t size = call.outputs[0].shape[d];
    rule_slice.factors.push_back({.name = name, .size = size, .cutting = Cutting::whole, .contributes_flops = false});
  }
  return rule_slice.linear_in({0}, kAnyReduce);
}

OpDef slice_op() {
  OpDef op;
  op.name = "slice";
  op.traits.halves = {.results = 1, .follow = true};
  op.summary = "the elements from begin to end of each dimension";
  op.attrs = Attrs(SliceAttrs{});
  op.infer = infer_slice;
  op.rule = rule_slice;
  op.localize = [](const Attrs& attrs, const Shard& shard) {
    SliceAttrs local = attrs.as<SliceAttrs>();
    for (size_t d = 0; d < local.end.size(); ++d) {
      if (!shard.outputs[0][d].whole()) local.end[d] = local.begin[d] + shard.outputs[0][d].count();
    }
    return Attrs(local);
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const SliceAttrs& attrs = call.attrs.as<SliceAttrs>();
    std::vector<int64_t> after;
    for (size_t d = 0; d < attrs.end.size(); ++d) after.push_back(call.inputs[0].shape()[d] - attrs.end[d]);
    return {call.apply("pad", {call.d_outputs[0]}, PadAttrs{.before = attrs.begin, .after = after})};
  };
  op.flops_per_point = 0;
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const SliceAttrs& attrs = call.attrs.as<SliceAttrs>();
    std::string bounds;
    for (size_t d = 0; d < attrs.begin.size(); ++d) {
      bounds += fmt::format("{}{}:{}", d == 0 ? "" : ", ", attrs.begin[d], attrs.end[d]);
    }
    return {call.body.add_typed("stablehlo.slice", {call.inputs[0]}, fmt::format(" [{}]", bounds), call.outputs[0])};
  };
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const SliceAttrs& attrs = all.as<SliceAttrs>();
    const std::array<Shape, 1> strides{strides_of(in[0].type.shape)};
    int64_t first = 0;
    for (size_t d = 0; d < attrs.begin.size(); ++d) first += attrs.begin[d] * strides[0][d];
    for_dtype(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* x = in[0].as<T>();
      T* y = out[0].as<T>();
      for_broadcast<1>(out[0].type.shape, strides,
                       [&](int64_t i, const std::array<int64_t, 1>& at) { y[i] = x[first + at[0]]; });
    });
  };
  op.samples = {{{sample_of({4, 6})}, Attrs(SliceAttrs{{0, 1}, {4, 5}})},
                {{sample_of({5, 3})}, Attrs(SliceAttrs{{2, 0}, {3, 3}})}};
  return op;
}

std::vector<Type> infer_pad(const OpCall& call) {
  require_operands("pad", call, 1);
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
  ShardingRule rule_pad = pointwise_rule({call.attrs, call.outputs, call.outputs});
  for (size_t d = 0; d < call.inputs[0].shape.size(); ++d) {
    if (call.inputs[0].shape[d] == call.outputs[0].shape[d]) continue;
    for (int factor : rule_pad.outputs[0][d].factors) rule_pad.factors[factor].cutting = Cutting::whole;
    rule_pad.inputs[0][d] = {};
    if (call.inputs[0].shape[d] == 1) continue;
    rule_pad.inputs[0][d].factors = {static_cast<int>(rule_pad.factors.size())};
    rule_pad.factors.push_back({.name = static_cast<char>('A' + d),
                                .size = call.inputs[0].shape[d],
                                .cutting = Cutting::whole,
                                .contributes_flops = false});
  }
  return rule_pad.linear_in({0});
}

OpDef pad_op() {
  OpDef op;
  op.name = "pad";
  op.traits.halves = {.results = 1, .follow = true};
  op.summary = "x with zeros before and after each dimension";
  op.attrs = Attrs(PadAttrs{});
  op.infer = infer_pad;
  op.rule = rule_pad;
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const PadAttrs& attrs = call.attrs.as<PadAttrs>();
    std::vector<int64_t> end;
    for (size_t d = 0; d < attrs.before.size(); ++d) end.push_back(attrs.before[d] + call.inputs[0].shape()[d]);
    return {call.apply("slice", {call.d_outputs[0]}, SliceAttrs{.begin = attrs.before, .end = end})};
  };
  op.flops_per_point = 0;
  op.emit = [](const EmitCall& call) -> std::vector<Hlo> {
    const PadAttrs& attrs = call.attrs.as<PadAttrs>();
    const Hlo& x = call.inputs[0];
    const std::string sizes = fmt::format(", low = [{}], high = [{}], interior = [{}]", fmt::join(attrs.before, ", "),
                                          fmt::join(attrs.after, ", "), fmt::join(Shape(x.type.shape.size(), 0), ", "));
    return {call.body.add_typed("stablehlo.pad", {x, call.splat(0, {x.type.dtype, {}})}, sizes, call.outputs[0])};
  };
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const PadAttrs& attrs = all.as<PadAttrs>();
    const std::array<Shape, 1> strides{strides_of(out[0].type.shape)};
    int64_t first = 0;
    for (size_t d = 0; d < attrs.before.size(); ++d) first += attrs.before[d] * strides[0][d];
    for_dtype(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* x = in[0].as<T>();
      T* y = out[0].as<T>();
      std::fill_n(y, out[0].type.elements(), T{});
      for_broadcast<1>(in[0].type.shape, strides,
                       [&](int64_t i, const std::array<int64_t, 1>& at) { y[first + at[0]] = x[i]; });
    });
  };
  op.samples = {{{sample_of({4, 3})}, Attrs(PadAttrs{{0, 1}, {0, 2}})},
                {{sample_of({5, 1})}, Attrs(PadAttrs{{0, 1}, {0, 0}})}};
  return op;
}

}  // namespace

std::vector<OpDef> slice_ops() { return {slice_op(), pad_op()}; }

}  // namespace partita
