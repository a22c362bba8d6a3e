#include "frontend/network/layers/norm.h"

#include "ir/ops/norm/batch_norm.h"
#include "ir/ops/norm/row_norm.h"

namespace partita {
namespace {

/// Returns the parameter `name`, a vector with the size of the last dimension of x, initialized by `init`. Throws
/// InvalidArgument for a scalar x, and as `Context::parameter` does.
Value channel_parameter(Context& context, std::string_view layer, Value x, const std::string& name, Init init) {
  if (x.type().rank() == 0) {
    throw InvalidArgument("[{}] no dimension to normalise, got {}, expected [.., z]", layer, print(x.type()));
  }
  const Shape shape{x.shape().back()};
  return context.parameter(name, shape, initializer(init, shape));
}

}  // namespace

Value BatchNorm2d::construct(Context& context, Value x) {
  const Shape shape = x.shape();
  if (shape.size() != 2 && shape.size() != 4) {
    throw InvalidArgument("[batch_norm] wrong number of dimensions, got {}, expected [n, c] or [n, c, h, w]",
                          print(x.type()));
  }
  Builder& builder = context.builder();
  const Shape channels{shape[1]};
  const Value scale = context.parameter("weight", channels, initializer(options_.scale, channels));
  const Value shift = context.parameter("bias", channels, initializer(Init::zeros, channels));
  const Value mean = context.statistic("running_mean", channels, initializer(Init::zeros, channels));
  const Value variance = context.statistic("running_var", channels, initializer(Init::ones, channels));
  if (!context.options().training) {
    return builder.apply("batch_norm_inference", {x, scale, shift, mean, variance},
                         BatchNormInferenceAttrs{.epsilon = options_.epsilon});
  }
  const int64_t groups = context.options().statistics_groups;
  if (groups < 1 || shape[0] % groups != 0) {
    throw InvalidArgument(
        "[batch_norm] the batch does not divide into groups, got batch {} in {} groups, expected a multiple of {}",
        shape[0], groups, groups);
  }
  const std::vector<Value> normal =
      builder.apply_all("batch_norm", {x, scale, shift}, BatchNormAttrs{.epsilon = options_.epsilon, .groups = groups});
  const RunningStatisticsAttrs attrs{
      .momentum = options_.momentum, .epsilon = options_.epsilon, .count = elements(shape) / shape[1] / groups};
  const std::vector<Value> running =
      builder.apply_all("running_statistics", {mean, variance, normal[1], normal[2]}, attrs);
  context.update_statistic("running_mean", running[0]);
  context.update_statistic("running_var", running[1]);
  return normal[0];
}

Value LayerNorm::construct(Context& context, Value x) {
  const Value weight = channel_parameter(context, "layer_norm", x, "weight", Init::ones);
  const Value bias = channel_parameter(context, "layer_norm", x, "bias", Init::zeros);
  return context.builder().apply_all("layer_norm", {x, weight, bias}, RowNormAttrs{.epsilon = options_.epsilon})[0];
}

Value RmsNorm::construct(Context& context, Value x) {
  const Value weight = channel_parameter(context, "rms_norm", x, "weight", Init::ones);
  return context.builder().apply_all("rms_norm", {x, weight}, RowNormAttrs{.epsilon = options_.epsilon})[0];
}

}  // namespace partita
