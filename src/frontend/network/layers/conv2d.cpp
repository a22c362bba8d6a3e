#include "frontend/network/layers/conv2d.h"

#include "ir/ops/conv/conv2d.h"
#include "ir/ops/elementwise/attrs.h"

namespace partita {

Value Conv2d::construct(Context& context, Value x) {
  require_images("conv2d", x.type());
  require_pair("conv2d", "kernel", kernel_);
  require_pair("conv2d", "stride", options_.stride);
  require_pair("conv2d", "dilation", options_.dilation);
  const Shape in = x.shape();
  if (options_.groups < 1 || in[1] % options_.groups != 0 || channels_ % options_.groups != 0) {
    throw InvalidArgument(
        "[conv2d] channels do not divide into groups, got {} to {} channels in {} groups, expected multiples of the "
        "groups",
        in[1], channels_, options_.groups);
  }
  std::vector<int64_t> pads{0, 0, 0, 0};
  if (options_.padding == Padding::explicit_) pads = options_.pads;
  if (options_.padding == Padding::same) pads = same_pads(in, kernel_, options_.stride, options_.dilation);
  Builder& builder = context.builder();
  const Shape shape{channels_, in[1] / options_.groups, kernel_[0], kernel_[1]};
  const Value weight = context.parameter("weight", shape, options_.init.of(shape));
  const Value y = builder.apply(
      "conv2d", {x, weight},
      Conv2dAttrs{.stride = options_.stride, .dilation = options_.dilation, .pads = pads, .groups = options_.groups});
  if (!options_.bias) return y;
  const Value bias = context.parameter("bias", {channels_}, options_.bias_init.of({channels_}));
  return builder.apply("bias_add", {y, bias}, BiasAddAttrs{.axis = 1});
}

}  // namespace partita
