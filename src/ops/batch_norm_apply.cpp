#include "ops/norm.h"

namespace partita {
namespace {

constexpr auto kBatchNormApply = "batch_norm_apply";

std::vector<Type> infer_batch_norm_apply(const OpCall& call) {
  require_operands(kBatchNormApply, call, 5);
  require_rank(kBatchNormApply, call, 3, 2);
  const Type& x = call.inputs[0];
  const int64_t groups = call.inputs[3].shape[0];
  require_norm_input(kBatchNormApply, call, groups);
  const Type statistics = statistics_type(x, groups);
  require_types(kBatchNormApply, call, 1, {channel_type(x), channel_type(x), statistics, statistics});
  return {x};
}

}  // namespace

OpDef batch_norm_apply_op() {
  OpDef op;
  op.name = kBatchNormApply;
  op.summary = "(x - mean) * rstd * gamma + beta from x, gamma, beta, mean, rstd";
  op.infer = infer_batch_norm_apply;
  op.rule = [](const OpCall& call) { return norm_rule("x,c,c,gc,gc->x", call).linear_in({1, 2}); };
  op.flops_per_point = 3;
  op.kernel = [](const Attrs&, Inputs in, Outputs out) {
    const NormSizes sizes = norm_sizes(in[0].type.shape, in[3].type.shape[0]);
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      norm_apply<T>(sizes, in[0].as<T>(), in[1].as<T>(), in[2].as<T>(), in[3].as<Wide<T>>(), in[4].as<Wide<T>>(),
                    out[0].as<T>());
    });
  };
  op.samples = {
      {{sample_of({6, 3, 4, 2}), sample_of({3}), sample_of({3}), sample_of({1, 3}), sample_of({1, 3})}},
      {{sample_of({8, 5}), sample_of({5}), sample_of({5}), sample_of({4, 5}), sample_of({4, 5})}},
  };
  return op;
}

}  // namespace partita
