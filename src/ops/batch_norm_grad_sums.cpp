#include "ops/norm.h"

namespace partita {
namespace {

constexpr auto kBatchNormGradSums = "batch_norm_grad_sums";

std::vector<Type> infer_batch_norm_grad_sums(const OpCall& call) {
  require_operands(kBatchNormGradSums, call, 4);
  require_rank(kBatchNormGradSums, call, 1, 2);
  const Type& x = call.inputs[0];
  const int64_t groups = call.inputs[1].shape[0];
  require_norm_input(kBatchNormGradSums, call, groups);
  const Type statistics = statistics_type(x, groups);
  require_types(kBatchNormGradSums, call, 1, {statistics, statistics, x});
  const Type sums{DType::f64, statistics.shape};
  return {sums, sums};
}

}  // namespace

OpDef batch_norm_grad_sums_op() {
  OpDef op;
  op.name = kBatchNormGradSums;
  op.summary = "f64 sums of d_y and of d_y * (x - mean) * rstd per group and channel, from x, mean, rstd, d_y";
  op.infer = infer_batch_norm_grad_sums;
  op.rule = [](const OpCall& call) { return norm_rule("x,gc,gc,x->gc,gc", call).linear_in({3}); };
  op.flops_per_point = 4;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    const NormSizes sizes = norm_sizes(in[0].type.shape, in[1].type.shape[0]);
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      norm_grad_sums<T>(sizes, in[0].as<T>(), in[1].as<Wide<T>>(), in[2].as<Wide<T>>(), in[3].as<T>(),
                        out[0].as<double>(), out[1].as<double>());
    });
  };
  op.samples = {
      {{sample_of({6, 3, 4, 2}), sample_of({1, 3}), sample_of({1, 3}), sample_of({6, 3, 4, 2})}},
      {{sample_of({8, 5}), sample_of({4, 5}), sample_of({4, 5}), sample_of({8, 5})}},
  };
  return op;
}

}  // namespace partita
