#include <cmath>

#include "base/number.h"
#include "ops/batch_norm.h"
#include "ops/support.h"

namespace partita {
namespace {

constexpr auto kMomentsFinish = "moments_finish";

std::vector<Type> infer_moments_finish(const OpCall& call) {
  require_operands(kMomentsFinish, call, 2);
  const auto& attrs = call.attrs.as<MomentsFinishAttrs>();
  const Type& sum = call.inputs[0];
  if (sum.dtype != DType::f64 || call.inputs[1] != sum) {
    reject(kMomentsFinish, "sums do not fit", print(call.inputs), "two f64 tensors of one shape");
  }
  if (attrs.dtype != DType::f64 && attrs.dtype != DType::f32) {
    reject(kMomentsFinish, "dtype is not legal", to_text(attrs.dtype), "f64 or f32", ErrorKind::type);
  }
  if (attrs.count < 0 || !(attrs.epsilon > 0)) {
    reject(kMomentsFinish, "attributes are not legal", call.attrs.print(), "count of 0 or more and epsilon above 0");
  }
  return {Type{attrs.dtype, sum.shape}, Type{attrs.dtype, sum.shape}};
}

template <class T>
void run_moments_finish(const MomentsFinishAttrs& attrs, Inputs in, Outputs out) {
  const double* sum = in[0].as<double>();
  const double* squares = in[1].as<double>();
  const double count = double(std::max<int64_t>(1, attrs.count));
  for (int64_t k = 0; k < in[0].type.elements(); ++k) {
    const double mean = sum[k] / count;
    const double variance = not_below_zero(squares[k] / count - mean * mean);
    out[0].as<T>()[k] = static_cast<T>(mean);
    out[1].as<T>()[k] = static_cast<T>(1 / std::sqrt(variance + attrs.epsilon));
  }
}

}  // namespace

OpDef moments_finish_op() {
  OpDef op;
  op.name = kMomentsFinish;
  op.summary = "mean = s1 / count, rstd = 1 / sqrt(s2 / count - mean^2 + epsilon)";
  op.attrs = Attrs(MomentsFinishAttrs{});
  op.infer = infer_moments_finish;
  op.rule = [](const OpCall& call) { return pointwise_rule(call); };
  op.flops_per_point = 6;
  op.kernel = [](const Attrs& given, Inputs in, Outputs out) {
    const auto& attrs = given.as<MomentsFinishAttrs>();
    attrs.dtype == DType::f64 ? run_moments_finish<double>(attrs, in, out) : run_moments_finish<float>(attrs, in, out);
  };
  op.samples = {{{sample_of({4, 6}), sample_of({4, 6}, Fill::positive)},
                 Attrs(MomentsFinishAttrs{.count = 8, .epsilon = 1e-3, .dtype = DType::f64})}};
  return op;
}

}  // namespace partita
