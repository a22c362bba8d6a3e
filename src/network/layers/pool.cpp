#include "network/layers/pool.h"

namespace partita {
namespace {

FieldTexts window_fields(int64_t kernel, const PoolOptions& options) {
  const int64_t stride = options.stride > 0 ? options.stride : kernel;
  return {{"kernel", to_text(std::vector<int64_t>(2, kernel))},
          {"stride", to_text(std::vector<int64_t>(2, stride))},
          {"pads", to_text(std::vector<int64_t>(4, options.padding))}};
}

}  // namespace

Value MaxPool2d::construct(Context& context, Value x) {
  return context.builder().apply_fields("max_pool", {x}, window_fields(kernel_, options_));
}

Value AvgPool2d::construct(Context& context, Value x) {
  return context.builder().apply_fields("avg_pool", {x}, window_fields(kernel_, options_));
}

Value GlobalAvgPool::construct(Context& context, Value x) {
  if (x.type().rank() != 4) {
    throw InvalidArgument(
        fmt::format("[global_avg_pool] wrong number of dimensions, got {}, expected [n, c, h, w]", print(x.type())));
  }
  const double plane = static_cast<double>(x.shape()[2] * x.shape()[3]);
  return context.builder().apply_fields("reduce", {x}, {{"axes", "[2,3]"}, {"scale", to_text(1 / plane)}});
}

}  // namespace partita
