#include "network/layers/batch_norm.h"

#include "network/initializers.h"

namespace partita {

Value BatchNorm2d::construct(Context& context, Value x) {
  const Shape shape = x.shape();
  if (shape.size() != 2 && shape.size() != 4) {
    throw InvalidArgument(fmt::format(
        "[batch_norm] wrong number of dimensions, got {}, expected [n, c] or [n, c, h, w]", print(x.type())));
  }
  Builder& builder = context.builder();
  const Shape channels{shape[1]};
  const Value scale = context.parameter("weight", channels, initializer(options_.scale, channels));
  const Value shift = context.parameter("bias", channels, initializer(Init::zeros, channels));
  const Value mean = context.statistic("running_mean", channels, initializer(Init::zeros, channels));
  const Value variance = context.statistic("running_var", channels, initializer(Init::ones, channels));
  const std::string epsilon = to_text(options_.epsilon);
  if (!context.options().training) {
    return builder.apply_fields("batch_norm_inference", {x, scale, shift, mean, variance}, {{"epsilon", epsilon}});
  }
  const int64_t groups = context.options().norm_groups;
  if (groups < 1 || shape[0] % groups != 0) {
    throw InvalidArgument(fmt::format(
        "[batch_norm] the batch does not divide into groups, got batch {} in {} groups, expected a multiple of {}",
        shape[0], groups, groups));
  }
  const std::vector<Value> normal =
      builder.apply_all("batch_norm", {x, scale, shift},
                        builder.ops().at("batch_norm").attrs.with({{"epsilon", epsilon}, {"groups", to_text(groups)}}));
  const int64_t count = elements(shape) / shape[1] / groups;
  const std::vector<Value> running = builder.apply_all(
      "running_statistics", {mean, variance, normal[1], normal[2]},
      builder.ops()
          .at("running_statistics")
          .attrs.with({{"momentum", to_text(options_.momentum)}, {"epsilon", epsilon}, {"count", to_text(count)}}));
  context.update_statistic("running_mean", running[0]);
  context.update_statistic("running_var", running[1]);
  return normal[0];
}

}  // namespace partita
