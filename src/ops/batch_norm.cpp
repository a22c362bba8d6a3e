#include "ops/batch_norm.h"

#include <cmath>

#include "ops/norm.h"

namespace partita {

NormSizes norm_sizes(const Shape& x, int64_t groups) {
  NormSizes sizes{groups, groups == 0 ? 0 : x[0] / groups, x[1], 1};
  for (size_t d = 2; d < x.size(); ++d) sizes.plane *= x[d];
  return sizes;
}

void require_norm_input(std::string_view op, const OpCall& call, int64_t groups) {
  require_float(op, call);
  const Type& x = call.inputs[0];
  if (x.rank() != 2 && x.rank() != 4) reject(op, "x has the wrong shape", print(x), "[n, c] or [n, c, h, w]");
  if (groups < 0 || (groups == 0 ? x.shape[0] != 0 : x.shape[0] % groups != 0)) {
    reject(op, "rows do not divide into groups", fmt::format("{} rows, {} groups", x.shape[0], groups),
           "a divisor of the rows");
  }
}

void require_types(std::string_view op, const OpCall& call, size_t first, const std::vector<Type>& expected) {
  const std::vector<Type> got(call.inputs.begin() + static_cast<std::ptrdiff_t>(first), call.inputs.end());
  if (got == expected) return;
  reject(op, fmt::format("operands from {} on do not fit x {}", first, print(call.inputs[0])), print(got),
         print(expected));
}

Type statistics_type(const Type& x, int64_t groups) { return {wide_type(x.dtype), {groups, x.shape[1]}}; }

Type channel_type(const Type& x) { return {x.dtype, {x.shape[1]}}; }

ShardingRule norm_rule(std::string text, const OpCall& call) {
  const bool planes = call.inputs[0].rank() == 4;
  for (size_t at; (at = text.find('x')) != std::string::npos;) text.replace(at, 1, planes ? "(gm)chw" : "(gm)c");
  if (text.back() == '|')
    text += planes ? " m:expand h:expand w:expand" : " m:expand";
  return einsum(text, call);
}

namespace {

constexpr auto kBatchNorm = "batch_norm";

std::vector<Type> infer_batch_norm(const OpCall& call) {
  require_operands(kBatchNorm, call, 3);
  const auto& attrs = call.attrs.as<BatchNormAttrs>();
  require_norm_input(kBatchNorm, call, attrs.groups);
  const Type& x = call.inputs[0];
  require_types(kBatchNorm, call, 1, {channel_type(x), channel_type(x)});
  if (!(attrs.epsilon > 0)) reject(kBatchNorm, "epsilon is not positive", to_text(attrs.epsilon), "above 0");
  return {x, statistics_type(x, attrs.groups), statistics_type(x, attrs.groups)};
}

Attrs localize_batch_norm(const Attrs& given, const Shard& shard) {
  BatchNormAttrs attrs = given.as<BatchNormAttrs>();
  attrs.groups = shard.outputs[1][0].count();
  return attrs;
}

std::vector<Value> grad_batch_norm(const GradCall& call) {
  if (call.d_outputs[1] || call.d_outputs[2]) {
    throw InvalidArgument(
        "[batch_norm] no gradient is defined through the statistics, got a use of mean or rstd "
        "in the loss, expected a use of y only");
  }
  return call.apply_all("batch_norm_grad",
                        {call.inputs[0], call.inputs[1], call.outputs[1], call.outputs[2], call.d_outputs[0]});
}

std::vector<Value> expand_batch_norm(const ExpandCall& call) {
  const auto& attrs = call.attrs.as<BatchNormAttrs>();
  const Value x = call.inputs[0];
  const auto sums = call.apply_all("moments", {x}, Attrs(MomentsAttrs{attrs.groups}));
  const int64_t count = norm_sizes(x.shape(), attrs.groups).count();
  const auto statistics =
      call.apply_all("moments_finish", sums, Attrs(MomentsFinishAttrs{count, attrs.epsilon, wide_type(x.dtype())}));
  const Value y = call.apply("batch_norm_apply", {x, call.inputs[1], call.inputs[2], statistics[0], statistics[1]});
  return {y, statistics[0], statistics[1]};
}

/// Two passes: the second sums squares of differences, which do not cancel.
template <class T>
void find_statistics(const NormSizes& sizes, double epsilon, const T* x, Wide<T>* mean, Wide<T>* rstd) {
  const int64_t total = sizes.groups * sizes.channels;
  const double count = double(std::max<int64_t>(1, sizes.count()));
  std::vector<double> sum(total), squares(total);
  for_planes(sizes, [&](int64_t k, int64_t, int64_t begin, int64_t end) {
    double plane = 0;
    for (int64_t i = begin; i < end; ++i) plane += double(x[i]);
    sum[k] += plane;
  });
  for (double& value : sum) value /= count;
  for_planes(sizes, [&](int64_t k, int64_t, int64_t begin, int64_t end) {
    double plane = 0;
    for (int64_t i = begin; i < end; ++i) plane += (double(x[i]) - sum[k]) * (double(x[i]) - sum[k]);
    squares[k] += plane;
  });
  for (int64_t k = 0; k < total; ++k) {
    mean[k] = static_cast<Wide<T>>(sum[k]);
    rstd[k] = static_cast<Wide<T>>(1 / std::sqrt(squares[k] / count + epsilon));
  }
}

}  // namespace

OpDef batch_norm_op() {
  OpDef op;
  op.name = kBatchNorm;
  op.summary = "y = (x - mean) * rstd * gamma + beta per channel, mean and rstd over each group of rows";
  op.attrs = Attrs(BatchNormAttrs{});
  op.infer = infer_batch_norm;
  op.rule = [](const OpCall& call) { return norm_rule("x,c,c->x,gc,gc |", call); };
  op.localize = localize_batch_norm;
  op.grad = grad_batch_norm;
  op.expand = expand_batch_norm;
  op.flops_per_point = 7;
  op.kernel = [](const Attrs& given, Inputs in, Outputs out) {
    const auto& attrs = given.as<BatchNormAttrs>();
    const NormSizes sizes = norm_sizes(in[0].type.shape, attrs.groups);
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      Wide<T>* mean = out[1].as<Wide<T>>();
      Wide<T>* rstd = out[2].as<Wide<T>>();
      find_statistics<T>(sizes, attrs.epsilon, in[0].as<T>(), mean, rstd);
      norm_apply<T>(sizes, in[0].as<T>(), in[1].as<T>(), in[2].as<T>(), mean, rstd, out[0].as<T>());
    });
  };
  op.samples = {
      {{sample_of({6, 3, 4, 2}), sample_of({3}), sample_of({3})}},
      {{sample_of({8, 2, 3, 3}), sample_of({2}), sample_of({2})}, Attrs(BatchNormAttrs{.epsilon = 1e-3, .groups = 4})},
      {{sample_of({6, 5}), sample_of({5}), sample_of({5})}, Attrs(BatchNormAttrs{.groups = 2})},
  };
  return op;
}

}  // namespace partita
