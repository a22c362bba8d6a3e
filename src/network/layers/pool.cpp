#include "network/layers/pool.h"

namespace partita {
namespace {

FieldTexts window_fields(std::string_view layer, const Type& x, int64_t size, const PoolOptions& options) {
  const std::vector<int64_t> kernel(2, size), stride(2, options.stride != 0 ? options.stride : size);
  require_images(layer, x);
  require_pair(layer, "kernel", kernel);
  require_pair(layer, "stride", stride);
  const std::vector<int64_t> pads =
      options.same ? same_pads(x.shape, kernel, stride) : std::vector<int64_t>(4, options.padding);
  return {{"kernel", to_text(kernel)}, {"stride", to_text(stride)}, {"pads", to_text(pads)}};
}

}  // namespace

Value MaxPool2d::construct(Context& context, Value x) {
  return context.builder().apply_fields("max_pool", {x}, window_fields("max_pool", x.type(), kernel_, options_));
}

Value AvgPool2d::construct(Context& context, Value x) {
  FieldTexts fields = window_fields("avg_pool", x.type(), kernel_, options_);
  fields.emplace_back("count_include_pad", to_text(options_.count_include_pad));
  return context.builder().apply_fields("avg_pool", {x}, fields);
}

Value GlobalAvgPool::construct(Context& context, Value x) {
  require_images("global_avg_pool", x.type());
  const double plane = static_cast<double>(x.shape()[2] * x.shape()[3]);
  return context.builder().apply_fields("reduce", {x}, {{"axes", "[2,3]"}, {"scale", to_text(1 / plane)}});
}

}  // namespace partita
