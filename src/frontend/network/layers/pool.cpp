#include "frontend/network/layers/pool.h"

#include "ir/ops/pool/pool.h"
#include "ir/ops/reduce/attrs.h"

namespace partita {
namespace {

PoolAttrs window_attrs(std::string_view layer, const Type& x, int64_t size, const PoolOptions& options) {
  const std::vector<int64_t> kernel(2, size), stride(2, options.stride != 0 ? options.stride : size);
  require_images(layer, x);
  require_pair(layer, "kernel", kernel);
  require_pair(layer, "stride", stride);
  const std::vector<int64_t> pads =
      options.same ? same_pads(x.shape, kernel, stride) : std::vector<int64_t>(4, options.padding);
  return {.kernel = kernel, .stride = stride, .pads = pads};
}

}  // namespace

Value MaxPool2d::construct(Context& context, Value x) {
  return context.builder().apply("max_pool", {x}, window_attrs("max_pool", x.type(), kernel_, options_));
}

Value AvgPool2d::construct(Context& context, Value x) {
  const PoolAttrs window = window_attrs("avg_pool", x.type(), kernel_, options_);
  return context.builder().apply("avg_pool", {x}, AvgPoolAttrs{window, options_.count_include_pad});
}

Value GlobalAvgPool::construct(Context& context, Value x) {
  require_images("global_avg_pool", x.type());
  const double plane = static_cast<double>(x.shape()[2] * x.shape()[3]);
  return context.builder().apply("reduce", {x}, ReduceAttrs{.axes = {2, 3}, .scale = 1 / plane});
}

}  // namespace partita
