#include "base/number.h"
#include "ops/batch_norm.h"
#include "ops/support.h"

namespace partita {
namespace {

constexpr auto kRunningStatistics = "running_statistics";

std::vector<Type> infer_running_statistics(const OpCall& call) {
  require_operands(kRunningStatistics, call, 4);
  require_float(kRunningStatistics, call);
  require_same_dtype(kRunningStatistics, call);
  require_rank(kRunningStatistics, call, 0, 1);
  require_rank(kRunningStatistics, call, 2, 2);
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

template <class T>
void run_running_statistics(const RunningStatisticsAttrs& attrs, Inputs in, Outputs out) {
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
}

}  // namespace

OpDef running_statistics_op() {
  OpDef op;
  op.name = kRunningStatistics;
  op.summary = "running mean and unbiased variance moved by momentum towards the mean over the groups";
  op.attrs = Attrs(RunningStatisticsAttrs{});
  op.infer = infer_running_statistics;
  op.rule = [](const OpCall& call) { return einsum("c,c,gc,gc->c,c | g:whole", call); };
  op.flops_per_point = 6;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    for_float(in[0].type.dtype,
              [&](auto zero) { run_running_statistics<decltype(zero)>(attrs.as<RunningStatisticsAttrs>(), in, out); });
  };
  op.samples = {
      {{sample_of({6}), sample_of({6}, Fill::positive), sample_of({1, 6}), sample_of({1, 6}, Fill::positive)},
       Attrs(RunningStatisticsAttrs{.count = 8})},
      {{sample_of({5}), sample_of({5}, Fill::positive), sample_of({4, 5}), sample_of({4, 5}, Fill::positive)},
       Attrs(RunningStatisticsAttrs{.momentum = 0.3, .epsilon = 1e-3, .count = 1})},
  };
  return op;
}

}  // namespace partita
