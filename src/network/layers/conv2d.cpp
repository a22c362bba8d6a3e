#include "network/layers/conv2d.h"

#include <algorithm>

#include "network/initializers.h"

namespace partita {

std::vector<int64_t> Conv2d::pads_for(const Shape& x) const {
  if (options_.padding == Padding::explicit_) return options_.pads;
  std::vector<int64_t> pads{0, 0, 0, 0};
  if (options_.padding == Padding::valid) return pads;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t size = x[2 + d], stride = options_.stride[d];
    const int64_t out = (size + stride - 1) / stride, span = (kernel_ - 1) * options_.dilation[d] + 1;
    const int64_t total = std::max<int64_t>(0, (out - 1) * stride + span - size);
    pads[d] = total / 2;
    pads[2 + d] = total - total / 2;
  }
  return pads;
}

Value Conv2d::construct(Context& context, Value x) {
  if (x.type().rank() != 4) {
    throw InvalidArgument(fmt::format(
        "[conv2d] wrong number of dimensions, got {}, expected [n, channels, height, width]", print(x.type())));
  }
  const Shape in = x.shape();
  if (options_.groups < 1 || in[1] % options_.groups != 0 || channels_ % options_.groups != 0) {
    throw InvalidArgument(
        fmt::format("[conv2d] channels do not divide into groups, got {} to {} channels in {} groups, "
                    "expected multiples of the groups",
                    in[1], channels_, options_.groups));
  }
  Builder& builder = context.builder();
  const Shape shape{channels_, in[1] / options_.groups, kernel_, kernel_};
  const Value weight = context.parameter("weight", shape, initializer(options_.init, shape));
  const Value y = builder.apply_fields("conv2d", {x, weight},
                                       {{"stride", to_text(options_.stride)},
                                        {"dilation", to_text(options_.dilation)},
                                        {"pads", to_text(pads_for(in))},
                                        {"groups", to_text(options_.groups)}});
  if (!options_.bias) return y;
  const Value bias = context.parameter("bias", {channels_}, initializer("zeros", {channels_}));
  return builder.apply_fields("bias_add", {y, bias}, {{"axis", "1"}});
}

}  // namespace partita
