#include <cmath>

#include "ops/batch_norm.h"
#include "ops/norm.h"

namespace partita {
namespace {

constexpr auto kBatchNormInference = "batch_norm_inference";

std::vector<Type> infer_batch_norm_inference(const OpCall& call) {
  require_operands(kBatchNormInference, call, 5);
  require_norm_input(kBatchNormInference, call, 1);
  const Type& x = call.inputs[0];
  const Type running{wide_type(x.dtype), {x.shape[1]}};
  require_types(kBatchNormInference, call, 1, {channel_type(x), channel_type(x), running, running});
  const double epsilon = call.attrs.as<BatchNormInferenceAttrs>().epsilon;
  if (!(epsilon > 0)) reject(kBatchNormInference, "epsilon is not positive", to_text(epsilon), "above 0");
  return {x};
}

ShardingRule rule_batch_norm_inference(const OpCall& call) {
  return einsum(call.inputs[0].rank() == 4 ? "nchw,c,c,c,c->nchw" : "nc,c,c,c,c->nc", call).linear_in({1, 2});
}

/// The running statistics count as constants.
std::vector<Value> grad_batch_norm_inference(const GradCall& call) {
  const Value x = call.inputs[0], gamma = call.inputs[1], d_y = call.d_outputs[0];
  Builder& builder = call.builder;
  const int64_t channels = x.shape()[1];
  const auto reshape = [&](Value value, const Shape& shape) {
    return builder.apply_fields("reshape", {value}, {{"shape", to_text(shape)}});
  };
  const auto cast = [&](Value value, DType dtype) {
    return value.dtype() == dtype ? value : builder.apply_fields("cast", {value}, {{"dtype", to_text(dtype)}});
  };
  const double epsilon = call.attrs.as<BatchNormInferenceAttrs>().epsilon;
  const Value variance = builder.apply_fields("scale", {call.inputs[4]}, {{"bias", to_text(epsilon)}});
  const Value rstd = call.apply("rsqrt", {variance});
  const Value factor = call.apply("mul", {gamma, cast(rstd, x.dtype())});
  const Shape along = x.type().rank() == 4 ? Shape{channels, 1, 1} : Shape{channels};
  const auto sums = call.apply_all("batch_norm_grad_sums",
                                   {x, reshape(call.inputs[3], {1, channels}), reshape(rstd, {1, channels}), d_y});
  return {call.apply("mul", {d_y, reshape(factor, along)}), cast(reshape(sums[1], {channels}), x.dtype()),
          cast(reshape(sums[0], {channels}), x.dtype()), Value(), Value()};
}

template <class T>
void run_batch_norm_inference(double epsilon, Inputs in, const Tensor& out) {
  const NormSizes sizes = norm_sizes(in[0].type.shape, 1);
  const Wide<T>* variance = in[4].as<Wide<T>>();
  std::vector<Wide<T>> rstd(sizes.channels);
  for (int64_t channel = 0; channel < sizes.channels; ++channel) {
    rstd[channel] = static_cast<Wide<T>>(1 / std::sqrt(double(variance[channel]) + epsilon));
  }
  norm_apply<T>(sizes, in[0].as<T>(), in[1].as<T>(), in[2].as<T>(), in[3].as<Wide<T>>(), rstd.data(), out.as<T>());
}

}  // namespace

OpDef batch_norm_inference_op() {
  OpDef op;
  op.name = kBatchNormInference;
  op.summary = "(x - mean) / sqrt(variance + epsilon) * gamma + beta from x, gamma, beta, mean, variance";
  op.attrs = Attrs(BatchNormInferenceAttrs{});
  op.infer = infer_batch_norm_inference;
  op.rule = rule_batch_norm_inference;
  op.grad = grad_batch_norm_inference;
  op.flops_per_point = 3;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const double epsilon = attrs.as<BatchNormInferenceAttrs>().epsilon;
    for_float(in[0].type.dtype, [&](auto zero) { run_batch_norm_inference<decltype(zero)>(epsilon, in, out[0]); });
  };
  op.samples = {
      {{sample_of({4, 3, 3, 2}), sample_of({3}), sample_of({3}), sample_of({3}), sample_of({3}, Fill::positive)}},
      {{sample_of({6, 5}), sample_of({5}), sample_of({5}), sample_of({5}), sample_of({5}, Fill::positive)},
       Attrs(BatchNormInferenceAttrs{.epsilon = 1e-3})},
  };
  return op;
}

}  // namespace partita
