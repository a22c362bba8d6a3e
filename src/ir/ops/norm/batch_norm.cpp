#include "ir/ops/norm/batch_norm.h"

#include <cmath>

#include "base/number.h"
#include "base/plain_text.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/shape/attrs.h"
#include "ir/ops/support.h"

namespace partita {

NormSizes norm_sizes(const Shape& x, int64_t groups) {
  NormSizes sizes{groups, groups == 0 ? 0 : x[0] / groups, x[1], 1};
  for (size_t d = 2; d < x.size(); ++d) sizes.plane *= x[d];
  return sizes;
}

void require_norm_input(std::string_view op, const OpCall& call, int64_t groups) {
  const Type& x = call.inputs[0];
  if (x.rank() != 2 && x.rank() != 4) reject(op, "x has the wrong shape", print(x), "[n, c] or [n, c, h, w]");
  if (groups < 0 || (groups == 0 ? x.shape[0] != 0 : x.shape[0] % groups != 0)) {
    reject(op, "rows do not divide into groups", fmt::format("{} rows, {} groups", x.shape[0], groups),
           "a divisor of the rows");
  }
}

Type statistics_type(const Type& x, int64_t groups) { return {wide_type(x.dtype), {groups, x.shape[1]}}; }

Type channel_type(const Type& x) { return {x.dtype, {x.shape[1]}}; }

void set_norm_types(OpDef& op, const std::string& text, const std::function<int64_t(const OpCall&)>& groups) {
  op.infer = [name = op.name, text, groups](const OpCall& call) -> std::vector<Type> {
    require_norm_input(name, call, groups(call));
    const Type &x = call.inputs[0], statistics = statistics_type(x, groups(call));
    std::vector<Type> types;  // types of the operands, then of the results
    for (const std::string_view word : split_words(text, ",->| ")) {
      types.push_back(word == "x"    ? x
                      : word == "c"  ? channel_type(x)
                      : word == "gc" ? statistics
                                     : Type{DType::f64, statistics.shape});
    }
    const auto results = types.begin() + static_cast<std::ptrdiff_t>(call.inputs.size());
    require_types(name, call, 1, {types.begin() + 1, results});
    return {results, types.end()};
  };
  op.rule = [text](const OpCall& call) {
    const bool planes = call.inputs[0].rank() == 4;
    std::string rule = text;
    for (size_t at; (at = rule.find("sums")) != std::string::npos;) rule.replace(at, 4, "gc");
    for (size_t at; (at = rule.find('x')) != std::string::npos;) rule.replace(at, 1, planes ? "(gm)chw" : "(gm)c");
    if (rule.back() == '|') rule += planes ? " m:expand h:expand w:expand" : " m:expand";
    return einsum(rule, call);
  };
}

namespace {

constexpr auto kBatchNorm = "batch_norm";

void require_positive(std::string_view op, double epsilon) {
  if (!(epsilon > 0)) reject(op, "epsilon is not positive", to_text(epsilon), "above 0");
}

std::vector<Value> grad_batch_norm(const GradCall& call) {
  std::vector<Value> gradients(3);
  if (call.d_outputs[0]) {
    gradients = call.apply_all("batch_norm_grad",
                               {call.inputs[0], call.inputs[1], call.outputs[1], call.outputs[2], call.d_outputs[0]});
  }
  if (const Value d = gradient_of_batch_statistics(call)) {
    gradients[0] = added(call, gradients[0], d);
  }
  return gradients;
}

std::vector<Value> expand_batch_norm(const ExpandCall& call) {
  const auto& attrs = call.attrs.as<BatchNormAttrs>();
  const Value x = call.inputs[0];
  const int64_t count = norm_sizes(x.shape(), attrs.groups).count();
  const Value sum = call.apply("moments_sum", {x}, MomentsSumAttrs{attrs.groups});
  const double share = 1.0 / static_cast<double>(std::max<int64_t>(1, count));
  const Value near = call.apply("scale", {sum}, ScaleAttrs{.scale = share});
  const auto sums = call.apply_all("moments_deviations", {x, near});
  const auto statistics = call.apply_all("moments_finish", {near, sums[0], sums[1]},
                                         MomentsFinishAttrs{count, attrs.epsilon, wide_type(x.dtype())});
  const Value y = call.apply("batch_norm_apply", {x, call.inputs[1], call.inputs[2], statistics[0], statistics[1]});
  return {y, statistics[0], statistics[1]};
}

/// Computes mean and rstd, the results, from x.
constexpr auto run_statistics = []<class T>(const BatchNormAttrs& attrs, Inputs in, Outputs out) {
  const NormSizes sizes = norm_sizes(in[0].type.shape, attrs.groups);
  const int64_t total = sizes.groups * sizes.channels;
  const T* x = in[0].as<T>();
  std::vector<double> near(total), rest(total), squares(total);
  sum_planes<T>(sizes, x, near.data());
  for (double& value : near) value /= static_cast<double>(std::max<int64_t>(1, sizes.count()));
  sum_deviations<T>(sizes, x, near.data(), rest.data(), squares.data());
  for (int64_t k = 0; k < total; ++k) {
    const Moments moments = moments_near(near[k], rest[k], squares[k], sizes.count());
    out[0].as<T>()[k] = static_cast<T>(moments.mean);
    out[1].as<T>()[k] = static_cast<T>(1 / std::sqrt(moments.variance + attrs.epsilon));
  }
};

/// Computes y from x, gamma, beta, mean and rstd.
constexpr auto run_norm_apply = []<class T>(Inputs in, Outputs out) {
  const NormSizes sizes = norm_sizes(in[0].type.shape, in[3].type.shape[0]);
  norm_apply<T>(sizes, in[0].as<T>(), in[1].as<T>(), in[2].as<T>(), in[3].as<T>(), in[4].as<T>(), out[0].as<T>());
};

BatchStatistics statistics_of(const Type& x, int64_t groups) {
  const NormSizes sizes = norm_sizes(x.shape, groups);
  return {.groups = sizes.groups, .values = sizes.count()};
}

OpDef batch_norm_op() {
  OpDef op =
      new_op(kBatchNorm, "y = (x - mean) * rstd * gamma + beta per channel, mean and rstd over each group of rows",
             {.count = 3, .floats = {0}}, BatchNormAttrs{}, kFollowsHalves);
  set_norm_types(op, "x,c,c->x,gc,gc |", groups_in<BatchNormAttrs>);
  op.infer = [infer = op.infer](const OpCall& call) {
    const std::vector<Type> results = infer(call);
    require_positive(kBatchNorm, call.attrs.as<BatchNormAttrs>().epsilon);
    return results;
  };
  op.localize = localized<BatchNormAttrs>(
      [](BatchNormAttrs& attrs, const Shard& shard) { attrs.groups = shard.outputs[1][0].count(); });
  op.grad = grad_batch_norm;
  op.expand = expand_batch_norm;
  op.flops_per_point = 7;
  op.traits.batch_statistics = [](const OpCall& call) {
    return statistics_of(call.inputs[0], call.attrs.as<BatchNormAttrs>().groups);
  };
  op.kernel = [statistics = float_kernel<double, BatchNormAttrs>(run_statistics),
               apply = float_kernel<double>(run_norm_apply)](const Attrs& attrs, Inputs in, Outputs out) {
    statistics(attrs, in.first(1), out.subspan(1));
    const std::array<ConstTensor, 5> operands{in[0], in[1], in[2], out[1], out[2]};
    apply(attrs, operands, out.first(1));
  };
  op.samples = {
      {{sample_of({6, 3, 4, 2}), sample_of({3}), sample_of({3})}},
      {{sample_of({8, 2, 3, 3}), sample_of({2}), sample_of({2})}, BatchNormAttrs{.epsilon = 1e-3, .groups = 4}},
      {{sample_of({6, 5}), sample_of({5}), sample_of({5})}, BatchNormAttrs{.groups = 2}},
  };
  return op;
}

Value sum_groups(const ExpandCall& call, Value sums, DType dtype) {
  const Value total = call.apply("reduce", {sums}, ReduceAttrs{.kind = Reduce::sum, .axes = {0}, .keep_dims = false});
  return dtype == DType::f64 ? total : call.apply("cast", {total}, CastAttrs{.dtype = dtype});
}

std::vector<Value> expand_batch_norm_grad(const ExpandCall& call) {
  const Value x = call.inputs[0], gamma = call.inputs[1], mean = call.inputs[2], rstd = call.inputs[3];
  const Value d_y = call.inputs[4];
  const auto sums = call.apply_all("batch_norm_grad_sums", {x, mean, rstd, d_y});
  const int64_t count = norm_sizes(x.shape(), mean.shape()[0]).count();
  const Value d_x = call.apply("batch_norm_grad_apply", {x, gamma, mean, rstd, d_y, sums[0], sums[1]},
                               BatchNormGradApplyAttrs{count});
  return {d_x, sum_groups(call, sums[1], x.dtype()), sum_groups(call, sums[0], x.dtype())};
}

constexpr auto run_batch_norm_grad = []<class T>(Inputs in, Outputs out) {
  const NormSizes sizes = norm_sizes(in[0].type.shape, in[2].type.shape[0]);
  const T* x = in[0].as<T>();
  const T* mean = in[2].as<T>();
  const T* rstd = in[3].as<T>();
  std::vector<double> sum(sizes.groups * sizes.channels), projection(sum.size());
  norm_grad_sums<T>(sizes, x, mean, rstd, in[4].as<T>(), sum.data(), projection.data());
  norm_grad_apply<T>(sizes, sizes.count(), x, in[1].as<T>(), mean, rstd, in[4].as<T>(), sum.data(), projection.data(),
                     out[0].as<T>());
  for (int64_t channel = 0; channel < sizes.channels; ++channel) {
    double d_gamma = 0, d_beta = 0;
    for (int64_t group = 0; group < sizes.groups; ++group) {
      d_gamma += projection[group * sizes.channels + channel];
      d_beta += sum[group * sizes.channels + channel];
    }
    out[1].as<T>()[channel] = T(d_gamma);
    out[2].as<T>()[channel] = T(d_beta);
  }
};

OpDef batch_norm_grad_op() {
  OpDef op = new_op("batch_norm_grad", "d_x, d_gamma, d_beta of batch_norm from x, gamma, mean, rstd, d_y",
                    {.count = 5, .floats = {0}, .ranks = {{2, 2}}}, {}, kFollowsHalves);
  set_norm_types(op, "x,c,gc,gc,x->x,c,c |", groups_of<2>);
  op.rule = [rule = op.rule](const OpCall& call) { return rule(call).linear_in({4}); };
  op.grad = by_formula(batch_norm_grad_formula);
  op.expand = expand_batch_norm_grad;
  op.flops_per_point = 10;
  op.traits.batch_statistics = [](const OpCall& call) {
    return statistics_of(call.inputs[0], call.inputs[2].shape[0]);
  };
  op.kernel = float_kernel<double>(run_batch_norm_grad);
  op.samples = {
      {{sample_of({6, 3, 4, 2}), sample_of({3}), sample_of({1, 3}), sample_of({1, 3}, Fill::positive),
        sample_of({6, 3, 4, 2})}},
      {{sample_of({8, 2, 3, 3}), sample_of({2}), sample_of({4, 2}), sample_of({4, 2}, Fill::positive),
        sample_of({8, 2, 3, 3})}},
      {{sample_of({6, 5}), sample_of({5}), sample_of({2, 5}), sample_of({2, 5}, Fill::positive), sample_of({6, 5})}},
  };
  return op;
}

constexpr auto kBatchNormInference = "batch_norm_inference";

std::vector<Type> infer_batch_norm_inference(const OpCall& call) {
  require_norm_input(kBatchNormInference, call, 1);
  const Type& x = call.inputs[0];
  const Type running{wide_type(x.dtype), {x.shape[1]}};
  require_types(kBatchNormInference, call, 1, {channel_type(x), channel_type(x), running, running});
  require_positive(kBatchNormInference, call.attrs.as<BatchNormInferenceAttrs>().epsilon);
  return {x};
}

ShardingRule rule_batch_norm_inference(const OpCall& call) {
  return einsum(call.inputs[0].rank() == 4 ? "nchw,c,c,c,c->nchw" : "nc,c,c,c,c->nc", call).linear_in({1, 2});
}

/// Returns the gradients of x, gamma and beta. The running statistics count as constants: theirs are empty Values.
std::vector<Value> grad_batch_norm_inference(const GradCall& call) {
  const Value x = call.inputs[0], gamma = call.inputs[1], d_y = call.d_outputs[0];
  Builder& builder = call.builder;
  const int64_t channels = x.shape()[1];
  const auto reshape = [&](Value value, const Shape& shape) {
    return builder.apply("reshape", {value}, ReshapeAttrs{.shape = shape});
  };
  const double epsilon = call.attrs.as<BatchNormInferenceAttrs>().epsilon;
  const Value variance = builder.apply("scale", {call.inputs[4]}, ScaleAttrs{.bias = epsilon});
  const Value rstd = call.apply("rsqrt", {variance});
  const Value factor = call.apply("mul", {gamma, to_dtype(call, rstd, x.dtype())});
  const Shape along = x.type().rank() == 4 ? Shape{channels, 1, 1} : Shape{channels};
  const auto sums = call.apply_all("batch_norm_grad_sums",
                                   {x, reshape(call.inputs[3], {1, channels}), reshape(rstd, {1, channels}), d_y});
  return {call.apply("mul", {d_y, reshape(factor, along)}), to_dtype(call, reshape(sums[1], {channels}), x.dtype()),
          to_dtype(call, reshape(sums[0], {channels}), x.dtype()), Value(), Value()};
}

/// Computes rstd from the variance.
constexpr auto run_rstd = []<class T>(const BatchNormInferenceAttrs& attrs, Inputs in, Outputs out) {
  const T* variance = in[0].as<T>();
  for (int64_t channel = 0; channel < in[0].type.elements(); ++channel) {
    out[0].as<T>()[channel] = static_cast<T>(1 / std::sqrt(double(variance[channel]) + attrs.epsilon));
  }
};

OpDef batch_norm_inference_op() {
  OpDef op = new_op(kBatchNormInference,
                    "(x - mean) / sqrt(variance + epsilon) * gamma + beta from x, gamma, beta, mean, variance",
                    {.count = 5, .floats = {0}}, BatchNormInferenceAttrs{}, kFollowsHalves);
  op.infer = infer_batch_norm_inference;
  op.rule = rule_batch_norm_inference;
  op.grad = grad_batch_norm_inference;
  op.flops_per_point = 3;
  op.emit = emit_batch_norm_inference;
  op.kernel = [find_rstd = float_kernel<double, BatchNormInferenceAttrs>(run_rstd),
               apply = float_kernel<double>(run_norm_apply)](const Attrs& attrs, Inputs in, Outputs out) {
    const Type statistics{in[4].type.dtype, {1, in[4].type.shape[0]}};
    Array rstd(statistics);
    const Tensor result = rstd.tensor();
    find_rstd(attrs, in.subspan(4, 1), {&result, 1});
    const std::array<ConstTensor, 5> operands{in[0], in[1], in[2], ConstTensor{statistics, in[3].data}, result};
    apply(attrs, operands, out);
  };
  op.samples = {
      {{sample_of({4, 3, 3, 2}), sample_of({3}), sample_of({3}), sample_of({3}), sample_of({3}, Fill::positive)}},
      {{sample_of({6, 5}), sample_of({5}), sample_of({5}), sample_of({5}), sample_of({5}, Fill::positive)},
       BatchNormInferenceAttrs{.epsilon = 1e-3}},
  };
  return op;
}

OpDef batch_norm_apply_op() {
  OpDef op = new_op("batch_norm_apply", "(x - mean) * rstd * gamma + beta from x, gamma, beta, mean, rstd",
                    {.count = 5, .floats = {0}, .ranks = {{3, 2}}}, {}, kFollowsHalves);
  set_norm_types(op, "x,c,c,gc,gc->x", groups_of<3>);
  op.rule = [rule = op.rule](const OpCall& call) { return rule(call).linear_in({1, 2}); };
  op.flops_per_point = 3;
  op.emit = emit_batch_norm_apply;
  op.kernel = float_kernel<double>(run_norm_apply);
  op.samples = {
      {{sample_of({6, 3, 4, 2}), sample_of({3}), sample_of({3}), sample_of({1, 3}), sample_of({1, 3})}},
      {{sample_of({8, 5}), sample_of({5}), sample_of({5}), sample_of({4, 5}), sample_of({4, 5})}},
  };
  return op;
}

OpDef batch_norm_grad_sums_op() {
  OpDef op = new_op("batch_norm_grad_sums",
                    "f64 sums of d_y and of d_y * (x - mean) * rstd per group and channel, from x, mean, rstd, d_y",
                    {.count = 4, .floats = {0}, .ranks = {{1, 2}}});
  set_norm_types(op, "x,gc,gc,x->sums,sums", groups_of<1>);
  op.rule = [rule = op.rule](const OpCall& call) { return rule(call).linear_in({3}); };
  op.flops_per_point = 4;
  op.grad = by_formula(batch_norm_grad_sums_formula);
  op.emit = emit_batch_norm_grad_sums;
  op.kernel = float_kernel<float>([]<class T>(Inputs in, Outputs out) {
    const NormSizes sizes = norm_sizes(in[0].type.shape, in[1].type.shape[0]);
    norm_grad_sums<T>(sizes, in[0].as<T>(), in[1].as<T>(), in[2].as<T>(), in[3].as<T>(), out[0].as<double>(),
                      out[1].as<double>());
  });
  op.samples = {
      {{sample_of({6, 3, 4, 2}), sample_of({1, 3}), sample_of({1, 3}), sample_of({6, 3, 4, 2})}},
      {{sample_of({8, 5}), sample_of({4, 5}), sample_of({4, 5}), sample_of({8, 5})}},
  };
  return op;
}

constexpr auto kBatchNormGradApply = "batch_norm_grad_apply";

OpDef batch_norm_grad_apply_op() {
  OpDef op =
      new_op(kBatchNormGradApply,
             "gamma * rstd * (d_y - (s1 + (x - mean) * rstd * s2) / count) from x, gamma, mean, rstd, d_y, s1, s2",
             {.count = 7, .floats = {0}, .ranks = {{2, 2}}}, BatchNormGradApplyAttrs{}, kFollowsHalves);
  set_norm_types(op, "x,c,gc,gc,x,sums,sums->x", groups_of<2>);
  op.infer = [infer = op.infer](const OpCall& call) {
    const std::vector<Type> results = infer(call);
    const int64_t count = call.attrs.as<BatchNormGradApplyAttrs>().count;
    if (count < 0) reject(kBatchNormGradApply, "count is negative", fmt::format("{}", count), "0 or more");
    return results;
  };
  op.rule = [rule = op.rule](const OpCall& call) { return rule(call).linear_in({1}).linear_in({4, 5, 6}); };
  op.flops_per_point = 6;
  op.emit = emit_batch_norm_grad_apply;
  op.kernel = float_kernel<double, BatchNormGradApplyAttrs>(
      []<class T>(const BatchNormGradApplyAttrs& attrs, Inputs in, Outputs out) {
        const NormSizes sizes = norm_sizes(in[0].type.shape, in[2].type.shape[0]);
        norm_grad_apply<T>(sizes, attrs.count, in[0].as<T>(), in[1].as<T>(), in[2].as<T>(), in[3].as<T>(),
                           in[4].as<T>(), in[5].as<double>(), in[6].as<double>(), out[0].as<T>());
      });
  op.samples = {
      {{sample_of({6, 3, 4, 2}), sample_of({3}), sample_of({1, 3}), sample_of({1, 3}), sample_of({6, 3, 4, 2}),
        sample_of({1, 3}), sample_of({1, 3})},
       BatchNormGradApplyAttrs{.count = 48}},
      {{sample_of({8, 5}), sample_of({5}), sample_of({4, 5}), sample_of({4, 5}), sample_of({8, 5}), sample_of({4, 5}),
        sample_of({4, 5})},
       BatchNormGradApplyAttrs{.count = 2}},
  };
  return op;
}

constexpr auto kRunningStatistics = "running_statistics";

std::vector<Type> infer_running_statistics(const OpCall& call) {
  const Type& running = call.inputs[0];
  const Type& batch = call.inputs[2];
  if (call.inputs[1] != running || call.inputs[3] != batch || batch.shape[1] != running.shape[0]) {
    reject(kRunningStatistics, "shapes do not fit", print(call.inputs), "[c], [c], [groups, c], [groups, c]");
  }
  const auto& attrs = call.attrs.as<RunningStatisticsAttrs>();
  if (!(attrs.momentum >= 0 && attrs.momentum <= 1) || !(attrs.epsilon >= 0) || attrs.count < 1) {
    reject(kRunningStatistics, "attributes are not legal", call.attrs.print(),
           "momentum from 0 to 1, epsilon of 0 or more and count of 1 or more");
  }
  return {running, running};
}

constexpr auto run_running_statistics = []<class T>(const RunningStatisticsAttrs& attrs, Inputs in, Outputs out) {
  const int64_t groups = in[2].type.shape[0], channels = in[0].type.shape[0];
  const T* mean = in[2].as<T>();
  const T* rstd = in[3].as<T>();
  const double unbiased = double(attrs.count) / double(std::max<int64_t>(1, attrs.count - 1));
  const double part = attrs.momentum / double(std::max<int64_t>(1, groups));
  for (int64_t channel = 0; channel < channels; ++channel) {
    double means = 0, variances = 0;
    for (int64_t k = channel; k < groups * channels; k += channels) {
      means += double(mean[k]);
      variances += not_below_zero(1 / (double(rstd[k]) * double(rstd[k])) - attrs.epsilon);
    }
    const double kept = 1 - attrs.momentum;
    out[0].as<T>()[channel] = T(kept * double(in[0].as<T>()[channel]) + part * means);
    out[1].as<T>()[channel] = T(kept * double(in[1].as<T>()[channel]) + part * unbiased * variances);
  }
};

OpDef running_statistics_op() {
  OpDef op = new_op(
      kRunningStatistics, "running mean and unbiased variance moved by momentum towards the mean over the groups",
      {.count = 4, .floats = {0}, .same_dtype = true, .ranks = {{0, 1}, {2, 2}}}, RunningStatisticsAttrs{});
  op.infer = infer_running_statistics;
  op.rule = [](const OpCall& call) { return einsum("c,c,gc,gc->c,c | g:whole", call); };
  op.flops_per_point = 6;
  op.emit = emit_running_statistics;
  op.kernel = float_kernel<double, RunningStatisticsAttrs>(run_running_statistics);
  op.samples = {
      {{sample_of({6}), sample_of({6}, Fill::positive), sample_of({1, 6}), sample_of({1, 6}, Fill::positive)},
       RunningStatisticsAttrs{.count = 8}},
      {{sample_of({5}), sample_of({5}, Fill::positive), sample_of({4, 5}), sample_of({4, 5}, Fill::positive)},
       RunningStatisticsAttrs{.momentum = 0.3, .epsilon = 1e-3, .count = 1}},
  };
  return op;
}

}  // namespace

std::vector<OpDef> batch_norm_ops() {
  return {batch_norm_op(),           batch_norm_grad_op(),       batch_norm_inference_op(), batch_norm_apply_op(),
          batch_norm_grad_sums_op(), batch_norm_grad_apply_op(), running_statistics_op()};
}

}  // namespace partita
