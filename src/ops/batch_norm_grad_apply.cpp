#include "ops/batch_norm.h"
#include "ops/norm.h"

namespace partita {
namespace {

constexpr auto kBatchNormGradApply = "batch_norm_grad_apply";

std::vector<Type> infer_batch_norm_grad_apply(const OpCall& call) {
  require_operands(kBatchNormGradApply, call, 7);
  require_rank(kBatchNormGradApply, call, 2, 2);
  const Type& x = call.inputs[0];
  const int64_t groups = call.inputs[2].shape[0];
  require_norm_input(kBatchNormGradApply, call, groups);
  const Type statistics = statistics_type(x, groups);
  const Type sums{DType::f64, statistics.shape};
  require_types(kBatchNormGradApply, call, 1, {channel_type(x), statistics, statistics, x, sums, sums});
  const int64_t count = call.attrs.as<BatchNormGradApplyAttrs>().count;
  if (count < 0) reject(kBatchNormGradApply, "count is negative", fmt::format("{}", count), "0 or more");
  return {x};
}

}  // namespace

OpDef batch_norm_grad_apply_op() {
  OpDef op;
  op.name = kBatchNormGradApply;
  op.summary = "gamma * rstd * (d_y - (s1 + (x - mean) * rstd * s2) / count) from x, gamma, mean, rstd, d_y, s1, s2";
  op.attrs = Attrs(BatchNormGradApplyAttrs{});
  op.infer = infer_batch_norm_grad_apply;
  op.rule = [](const OpCall& call) {
    return norm_rule("x,c,gc,gc,x,gc,gc->x", call).linear_in({1}).linear_in({4, 5, 6});
  };
  op.flops_per_point = 6;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const NormSizes sizes = norm_sizes(in[0].type.shape, in[2].type.shape[0]);
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      norm_grad_apply<T>(sizes, attrs.as<BatchNormGradApplyAttrs>().count, in[0].as<T>(), in[1].as<T>(),
                         in[2].as<Wide<T>>(), in[3].as<Wide<T>>(), in[4].as<T>(), in[5].as<double>(),
                         in[6].as<double>(), out[0].as<T>());
    });
  };
  op.samples = {
      {{sample_of({6, 3, 4, 2}), sample_of({3}), sample_of({1, 3}), sample_of({1, 3}), sample_of({6, 3, 4, 2}),
        sample_of({1, 3}), sample_of({1, 3})},
       Attrs(BatchNormGradApplyAttrs{.count = 48})},
      {{sample_of({8, 5}), sample_of({5}), sample_of({4, 5}), sample_of({4, 5}), sample_of({8, 5}), sample_of({4, 5}),
        sample_of({4, 5})},
       Attrs(BatchNormGradApplyAttrs{.count = 2})},
  };
  return op;
}

}  // namespace partita
