// The two phases in which a cut normalization computes mean and rstd. Ranks exchange plain sums in f64: one per channel
// in the first phase, two in the second.

#include "ir/ops/norm/moments.h"

#include <cmath>

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/norm/batch_norm.h"
#include "ir/ops/shape/attrs.h"

namespace partita {
namespace {

OpDef moments_sum_op() {
  OpDef op = new_op("moments_sum", "f64 sums of x per group of rows and channel", {.count = 1, .floats = {0}},
                    MomentsSumAttrs{});
  set_norm_types(op, "x->sums", groups_in<MomentsSumAttrs>);
  op.rule = [rule = op.rule](const OpCall& call) { return rule(call).linear_in({0}); };
  op.localize = localized<MomentsSumAttrs>(
      [](MomentsSumAttrs& attrs, const Shard& shard) { attrs.groups = shard.outputs[0][0].count(); });
  op.emit = emit_moments_sum;
  op.kernel = float_kernel<float, MomentsSumAttrs>([]<class T>(const MomentsSumAttrs& attrs, Inputs in, Outputs out) {
    sum_planes<T>(norm_sizes(in[0].type.shape, attrs.groups), in[0].as<T>(), out[0].as<double>());
  });
  op.samples = {{{sample_of({6, 3, 4, 2})}}, {{sample_of({8, 5})}, MomentsSumAttrs{.groups = 4}}};
  return op;
}

OpDef moments_deviations_op() {
  OpDef op =
      new_op("moments_deviations", "f64 sums of x - near and of its square per group of rows and channel, from x, near",
             {.count = 2, .floats = {0}, .ranks = {{1, 2}}});
  set_norm_types(op, "x,sums->sums,sums", groups_of<1>);
  op.flops_per_point = 4;
  op.emit = emit_moments_deviations;
  op.kernel = float_kernel<float>([]<class T>(Inputs in, Outputs out) {
    const NormSizes sizes = norm_sizes(in[0].type.shape, in[1].type.shape[0]);
    sum_deviations<T>(sizes, in[0].as<T>(), in[1].as<double>(), out[0].as<double>(), out[1].as<double>());
  });
  op.samples = {{{sample_of({6, 3, 4, 2}), sample_of({1, 3})}}, {{sample_of({8, 5}), sample_of({4, 5})}}};
  return op;
}

constexpr auto kMomentsFinish = "moments_finish";

std::vector<Type> infer_moments_finish(const OpCall& call) {
  const auto& attrs = call.attrs.as<MomentsFinishAttrs>();
  const Type& near = call.inputs[0];
  if (near.dtype != DType::f64 || call.inputs[1] != near || call.inputs[2] != near) {
    reject(kMomentsFinish, "sums do not fit", print(call.inputs), "three f64 tensors of one shape");
  }
  if (attrs.dtype != DType::f64 && attrs.dtype != DType::f32) {
    reject(kMomentsFinish, "dtype is not legal", to_text(attrs.dtype), "f64 or f32", ErrorKind::type);
  }
  if (attrs.count < 0 || !(attrs.epsilon > 0)) {
    reject(kMomentsFinish, "attributes are not legal", call.attrs.print(), "count of 0 or more and epsilon above 0");
  }
  return {Type{attrs.dtype, near.shape}, Type{attrs.dtype, near.shape}};
}

template <class T>
void run_moments_finish(const MomentsFinishAttrs& attrs, Inputs in, Outputs out) {
  const double *near = in[0].as<double>(), *rest = in[1].as<double>(), *squares = in[2].as<double>();
  for (int64_t k = 0; k < in[0].type.elements(); ++k) {
    const Moments moments = moments_near(near[k], rest[k], squares[k], attrs.count);
    out[0].as<T>()[k] = static_cast<T>(moments.mean);
    out[1].as<T>()[k] = static_cast<T>(1 / std::sqrt(moments.variance + attrs.epsilon));
  }
}

std::vector<Hlo> emit_moments_finish(const EmitCall& call) {
  const auto& attrs = call.attrs.as<MomentsFinishAttrs>();
  const Traced near(call, call.inputs[0]), rest(call, call.inputs[1]), squares(call, call.inputs[2]);
  const double share = 1 / static_cast<double>(std::max<int64_t>(1, attrs.count));
  const Traced shift = rest * share, variance = max_of(squares * share - shift * shift, 0);
  const auto result = [&](const Traced& value) {
    return call.convert(value.as(call, call.inputs[0].type), attrs.dtype);
  };
  return {result(near + shift), result(1 / sqrt_of(variance + attrs.epsilon))};
}

OpDef moments_finish_op() {
  OpDef op = new_op(kMomentsFinish, "mean = near + s1 / count, rstd = 1 / sqrt(s2 / count - (s1 / count)^2 + epsilon)",
                    {.count = 3}, MomentsFinishAttrs{});
  op.infer = infer_moments_finish;
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.emit = emit_moments_finish;
  op.flops_per_point = 6;
  op.kernel = [](const Attrs& given, Inputs in, Outputs out) {
    const auto& attrs = given.as<MomentsFinishAttrs>();
    attrs.dtype == DType::f64 ? run_moments_finish<double>(attrs, in, out) : run_moments_finish<float>(attrs, in, out);
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6}), sample_of({4, 6}, Fill::positive)},
                 MomentsFinishAttrs{.count = 8, .epsilon = 1e-3, .dtype = DType::f64}}};
  return op;
}

}  // namespace

Value gradient_of_moments(const BuildCall& call, Value x, Value mean, Value rstd, Value d_mean, Value d_rstd,
                          double share) {
  Value sum;
  if (d_rstd) {
    const Value cube = call.apply("mul", {call.apply("square", {rstd}), rstd});
    const Value slope = call.apply("scale", {call.apply("mul", {d_rstd, cube})}, ScaleAttrs{.scale = -share});
    sum = call.apply("mul", {mean ? call.apply("sub", {x, mean}) : x, slope});
  }
  if (d_mean) {
    const Value part = call.apply("scale", {d_mean}, ScaleAttrs{.scale = share});
    sum = added(call, sum, sum ? part : call.apply("broadcast_to", {part}, BroadcastAttrs{.shape = x.shape()}));
  }
  return sum;
}

std::vector<OpDef> moments_ops() { return {moments_sum_op(), moments_deviations_op(), moments_finish_op()}; }

}  // namespace partita
