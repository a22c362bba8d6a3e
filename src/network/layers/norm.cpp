#include "network/layers/norm.h"

#include "network/initializers.h"

namespace partita {
namespace {

/// A parameter for each element of the last dimension.
Value channel_parameter(Context& context, std::string_view layer, Value x, const std::string& name, Init init) {
  if (x.type().rank() == 0) {
    throw InvalidArgument(
        fmt::format("[{}] no dimension to normalise, got {}, expected [.., z]", layer, print(x.type())));
  }
  const Shape shape{x.shape().back()};
  return context.parameter(name, shape, initializer(init, shape));
}

}  // namespace

Value LayerNorm::construct(Context& context, Value x) {
  const Value weight = channel_parameter(context, "layer_norm", x, "weight", Init::ones);
  const Value bias = channel_parameter(context, "layer_norm", x, "bias", Init::zeros);
  Builder& builder = context.builder();
  return builder.apply_all("layer_norm", {x, weight, bias},
                           builder.ops().at("layer_norm").attrs.with({{"epsilon", to_text(options_.epsilon)}}))[0];
}

Value RmsNorm::construct(Context& context, Value x) {
  const Value weight = channel_parameter(context, "rms_norm", x, "weight", Init::ones);
  Builder& builder = context.builder();
  return builder.apply_all("rms_norm", {x, weight},
                           builder.ops().at("rms_norm").attrs.with({{"epsilon", to_text(options_.epsilon)}}))[0];
}

}  // namespace partita
