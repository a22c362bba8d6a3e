#include "ops/batch_norm.h"
#include "ops/norm.h"

namespace partita {
namespace {

constexpr auto kBatchNormGrad = "batch_norm_grad";

std::vector<Type> infer_batch_norm_grad(const OpCall& call) {
  require_operands(kBatchNormGrad, call, 5);
  require_rank(kBatchNormGrad, call, 2, 2);
  const Type& x = call.inputs[0];
  const int64_t groups = call.inputs[2].shape[0];
  require_norm_input(kBatchNormGrad, call, groups);
  const Type statistics = statistics_type(x, groups);
  require_types(kBatchNormGrad, call, 1, {channel_type(x), statistics, statistics, x});
  return {x, channel_type(x), channel_type(x)};
}

Value sum_groups(const ExpandCall& call, Value sums, DType dtype) {
  const Value total =
      call.builder.apply_fields("reduce", {sums}, {{"kind", "sum"}, {"axes", "[0]"}, {"keep_dims", "false"}});
  return dtype == DType::f64 ? total : call.builder.apply_fields("cast", {total}, {{"dtype", to_text(dtype)}});
}

std::vector<Value> expand_batch_norm_grad(const ExpandCall& call) {
  const Value x = call.inputs[0], gamma = call.inputs[1], mean = call.inputs[2], rstd = call.inputs[3];
  const Value d_y = call.inputs[4];
  const auto sums = call.apply_all("batch_norm_grad_sums", {x, mean, rstd, d_y});
  const int64_t count = norm_sizes(x.shape(), mean.shape()[0]).count();
  const Value d_x = call.apply("batch_norm_grad_apply", {x, gamma, mean, rstd, d_y, sums[0], sums[1]},
                               Attrs(BatchNormGradApplyAttrs{count}));
  return {d_x, sum_groups(call, sums[1], x.dtype()), sum_groups(call, sums[0], x.dtype())};
}

template <class T>
void run_batch_norm_grad(Inputs in, Outputs out) {
  const NormSizes sizes = norm_sizes(in[0].type.shape, in[2].type.shape[0]);
  const T* x = in[0].as<T>();
  const Wide<T>* mean = in[2].as<Wide<T>>();
  const Wide<T>* rstd = in[3].as<Wide<T>>();
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
}

}  // namespace

OpDef batch_norm_grad_op() {
  OpDef op;
  op.name = kBatchNormGrad;
  op.summary = "d_x, d_gamma, d_beta of batch_norm from x, gamma, mean, rstd, d_y";
  op.infer = infer_batch_norm_grad;
  op.rule = [](const OpCall& call) { return norm_rule("x,c,gc,gc,x->x,c,c |", call).linear_in({4}); };
  op.expand = expand_batch_norm_grad;
  op.flops_per_point = 10;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    for_float(in[0].type.dtype, [&](auto zero) { run_batch_norm_grad<decltype(zero)>(in, out); });
  };
  op.samples = {
      {{sample_of({6, 3, 4, 2}), sample_of({3}), sample_of({1, 3}), sample_of({1, 3}, Fill::positive),
        sample_of({6, 3, 4, 2})}},
      {{sample_of({8, 2, 3, 3}), sample_of({2}), sample_of({4, 2}), sample_of({4, 2}, Fill::positive),
        sample_of({8, 2, 3, 3})}},
      {{sample_of({6, 5}), sample_of({5}), sample_of({2, 5}), sample_of({2, 5}, Fill::positive), sample_of({6, 5})}},
  };
  return op;
}

}  // namespace partita
