#include "network/layers/layers.h"
#include "zoo/models.h"

namespace partita {
namespace {

LayerPtr conv(int64_t channels, int64_t kernel, int64_t stride,
              std::source_location where = std::source_location::current()) {
  const int64_t pad = kernel / 2;
  return conv2d(
      channels, kernel,
      Conv2dOptions{
          .stride = {stride, stride}, .padding = Padding::explicit_, .pads = {pad, pad, pad, pad}, .bias = false},
      where);
}

/// relu(bn2(conv2(relu(bn1(conv1(x))))) + x), x through a 1x1 convolution where the shape changes.
class BasicBlock : public Layer {
 public:
  BasicBlock(int64_t in, int64_t channels, int64_t stride)
      : conv1_(conv(channels, 3, stride)), norm1_(batch_norm()), conv2_(conv(channels, 3, 1)), norm2_(batch_norm()) {
    if (stride != 1 || in != channels) {
      downsample_ = sequential(std::vector<LayerPtr>{conv(channels, 1, stride), batch_norm()});
    }
  }

  Value construct(Context& context, Value x) override {
    Builder& builder = context.builder();
    Value y = context.call("bn1", *norm1_, context.call("conv1", *conv1_, x));
    y = builder.apply("relu", {y});
    y = context.call("bn2", *norm2_, context.call("conv2", *conv2_, y));
    const Value skip = downsample_ ? context.call("downsample", *downsample_, x) : x;
    return builder.apply("relu", {builder.apply("add", {y, skip})});
  }

 private:
  LayerPtr conv1_, norm1_, conv2_, norm2_, downsample_;
};

}  // namespace

ZooModel make_resnet18(ModelOptionsText& options) {
  const int64_t classes = options.integer("classes", 10, 2, 1 << 20);
  const int64_t size = options.integer("size", 32, 8, 1024);
  const int64_t width = options.integer("width", 64, 1, 4096);
  const double dropout = options.number("dropout", 0, 0, 0.99);
  const bool small = size <= 64;
  std::vector<std::pair<std::string, LayerPtr>> layers{
      {"conv1", small ? conv(width, 3, 1) : conv(width, 7, 2)}, {"bn1", batch_norm()}, {"relu", relu_layer()}};
  if (!small) layers.emplace_back("maxpool", max_pool(3, PoolOptions{.stride = 2, .padding = 1}));
  int64_t in = width;
  for (int64_t stage = 0; stage < 4; ++stage) {
    const int64_t channels = width << stage, stride = stage == 0 ? 1 : 2;
    layers.emplace_back(fmt::format("layer{}", stage + 1),
                        sequential(std::vector<LayerPtr>{share(BasicBlock(in, channels, stride)),
                                                         share(BasicBlock(channels, channels, 1))}));
    in = channels;
  }
  layers.emplace_back("avgpool", global_avg_pool());
  if (dropout > 0) layers.emplace_back("dropout", partita::dropout(dropout));
  layers.emplace_back("fc", dense(classes, DenseOptions{.init = "xavier_uniform"}));
  return {std::make_shared<Network>(Network{"resnet18", sequential(std::move(layers))}),
          {.image = {3, size, size},
           .classes = classes,
           .batch = 128,
           .epochs = 1,
           .optimizer = {.kind = "momentum", .momentum = 0.9, .weight_decay = 5e-4},
           .schedule = {.kind = "linear", .learning_rate = 0.05, .warmup_steps = 10}}};
}

}  // namespace partita
