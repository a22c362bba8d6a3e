// Residual networks (He et al., 2015, "Deep residual learning for image recognition"), with torchvision's names. The
// wide ones (Zagoruyko and Komodakis, 2016) have the sizes of Zheng et al., 2022, "Alpa: automating inter- and
// intra-operator parallelism for distributed deep learning", table 7.

#include <array>
#include <map>

#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "zoo/models.h"

namespace partita {
namespace {

LayerPtr conv(int64_t channels, int64_t kernel, int64_t stride, CallLocation where = CallLocation::current()) {
  const int64_t pad = kernel / 2;
  return conv2d(channels, kernel,
                Conv2dOptions{.stride = {stride, stride},
                              .padding = Padding::explicit_,
                              .pads = {pad, pad, pad, pad},
                              .bias = false,
                              .init = Init::he_normal_fan_out},
                where);
}

/// Returns the projection of a skip connection whose shape changes: a 1x1 convolution with `stride` to `channels`
/// channels, and a batch norm.
LayerPtr projection(int64_t channels, int64_t stride) {
  return sequential(std::vector<LayerPtr>{conv(channels, 1, stride), batch_norm()});
}

/// Convolutions, each with its norm, and relu between them. The input is added before the last relu.
class ResidualBlock : public Layer {
 public:
  ResidualBlock(std::vector<std::pair<LayerPtr, LayerPtr>> steps, LayerPtr downsample)
      : steps_(std::move(steps)), downsample_(std::move(downsample)) {}

  Value construct(Context& context, Value x) override {
    Value y = x;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (i > 0) y = relu(y);
      y = context.call(fmt::format("conv{}", i + 1), *steps_[i].first, y);
      y = context.call(fmt::format("bn{}", i + 1), *steps_[i].second, y);
    }
    return relu(y + (downsample_ ? context.call("downsample", *downsample_, x) : x));
  }

 private:
  std::vector<std::pair<LayerPtr, LayerPtr>> steps_;
  LayerPtr downsample_;
};

/// Returns a residual block of two 3x3 convolutions; the first has the stride. `last_scale` initialises the scale of
/// the last norm. The input, of `in` channels, is projected if the shape changes.
LayerPtr basic_block(int64_t in, int64_t channels, int64_t stride, Init last_scale) {
  return share(ResidualBlock(
      {{conv(channels, 3, stride), batch_norm()}, {conv(channels, 3, 1), batch_norm({.scale = last_scale})}},
      stride != 1 || in != channels ? projection(channels, stride) : nullptr));
}

/// Returns a residual block of 1x1, 3x3 with `factor` times the channels, and 1x1 with four times the channels. The 3x3
/// has the stride. `last_scale` initialises the scale of the last norm. The input, of `in` channels, is projected if
/// the shape changes.
LayerPtr bottleneck(int64_t in, int64_t channels, int64_t factor, int64_t stride, Init last_scale) {
  const int64_t out = 4 * channels;
  return share(ResidualBlock({{conv(channels, 1, 1), batch_norm()},
                              {conv(factor * channels, 3, stride), batch_norm()},
                              {conv(out, 1, 1), batch_norm({.scale = last_scale})}},
                             stride != 1 || in != out ? projection(out, stride) : nullptr));
}

struct Architecture {
  std::string name;
  std::array<int64_t, 4> blocks;
  bool bottlenecks = true;
  bool small_stem = false;  // default of the option: one 3x3 convolution instead of 7x7 and pooling
  Init last_scale = Init::zeros;
  InitRule head = normal_initializer(0, 0.01);
  JobConfig recipe;
  int64_t classes = 10, size = 32, width = 64;  // defaults of the options
  int64_t factor = 1;                           // widens the 3x3 convolutions of bottlenecks
};

ZooModel make_resnet(const Architecture& architecture, ModelSizes& options) {
  const int64_t classes = options.integer("classes", architecture.classes, 2, 1 << 20);
  const int64_t size = options.integer("size", architecture.size, 8, 1024);
  const int64_t channels = options.integer("channels", 3, 1, kMaxChannels);
  const int64_t width = options.integer("width", architecture.width, 1, 4096);
  const double dropout = options.number("dropout", 0, 0, 0.99);
  const bool small = options.integer("small_stem", architecture.small_stem && size <= 64 ? 1 : 0, 0, 1) == 1;
  std::vector<std::pair<std::string, LayerPtr>> layers{
      {"conv1", small ? conv(width, 3, 1) : conv(width, 7, 2)}, {"bn1", batch_norm()}, {"relu", relu_layer()}};
  if (!small) layers.emplace_back("maxpool", max_pool(3, PoolOptions{.stride = 2, .padding = 1}));
  int64_t in = width;
  for (size_t stage = 0; stage < architecture.blocks.size(); ++stage) {
    const int64_t own = width << stage;
    std::vector<LayerPtr> blocks;
    for (int64_t i = 0; i < architecture.blocks[stage]; ++i) {
      const int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      const Init last = architecture.last_scale;
      blocks.push_back(architecture.bottlenecks ? bottleneck(in, own, architecture.factor, stride, last)
                                                : basic_block(in, own, stride, last));
      in = architecture.bottlenecks ? 4 * own : own;
    }
    layers.emplace_back(fmt::format("layer{}", stage + 1), sequential(std::move(blocks)));
  }
  layers.emplace_back("avgpool", global_avg_pool());
  if (dropout > 0) layers.emplace_back("dropout", partita::dropout(dropout));
  layers.emplace_back("fc", dense(classes, DenseOptions{.init = architecture.head}));
  return {architecture.name, sequential(std::move(layers)), image_format({channels, size, size}, classes), nullptr,
          architecture.recipe};
}

/// Returns the recipe of networks whose blocks begin as the identity and whose head begins small, so that the first
/// loss is about log(classes) (Goyal et al., 2017, "Accurate, large minibatch SGD", section 5.1). It uses AdamW, since
/// momentum hardly lowers the loss on small images in the first epochs: docs/decisions/008.
JobConfig bottleneck_recipe() {
  return {.data = {.augment = true},
          .training = {.batch = 256, .epochs = 1},
          .optimizer = {.kind = OptimizerKind::adamw, .weight_decay = 0.05, .decay_vectors = false},
          .schedule = {.kind = LrKind::cosine, .learning_rate = 1e-3, .warmup_steps = 10}};
}

}  // namespace

ZooModel make_resnet18(ModelSizes& options) {
  return make_resnet({.name = "resnet18",
                      .blocks = {2, 2, 2, 2},
                      .bottlenecks = false,
                      .small_stem = true,
                      .last_scale = Init::ones,
                      .head = Init::xavier_uniform,
                      .recipe = {.training = {.batch = 128, .epochs = 1},
                                 .optimizer = {.kind = OptimizerKind::momentum, .momentum = 0.9, .weight_decay = 5e-4},
                                 .schedule = {.kind = LrKind::linear, .learning_rate = 0.05, .warmup_steps = 10}}},
                     options);
}

ZooModel make_resnet50(ModelSizes& options) {
  return make_resnet({.name = "resnet50", .blocks = {3, 4, 6, 3}, .recipe = bottleneck_recipe()}, options);
}

ZooModel make_resnet101(ModelSizes& options) {
  return make_resnet({.name = "resnet101", .blocks = {3, 4, 23, 3}, .recipe = bottleneck_recipe()}, options);
}

ZooModel make_resnet152(ModelSizes& options) {
  return make_resnet({.name = "resnet152", .blocks = {3, 8, 36, 3}, .recipe = bottleneck_recipe()}, options);
}

ZooModel make_wide_resnet(ModelSizes& options) {
  struct Sizes {
    int64_t layers, width, factor, size = 224, classes = 1024;
  };
  static const std::vector<std::pair<std::string, Sizes>> published{
      {"250m", {50, 160, 2}}, {"500m", {50, 224, 2}},  {"1b", {50, 320, 2}},   {"2b", {50, 448, 2}},
      {"4b", {50, 640, 2}},   {"6.8b", {50, 320, 16}}, {"13b", {101, 320, 16}}};
  const Sizes base = options.published(published, {50, 16, 2, 32, 10});
  const int64_t layers = options.integer("layers", base.layers, 50, 152);
  const std::map<int64_t, std::array<int64_t, 4>> blocks{
      {50, {3, 4, 6, 3}}, {101, {3, 4, 23, 3}}, {152, {3, 8, 36, 3}}};
  if (!blocks.contains(layers)) {
    throw InvalidArgument("[wide_resnet] unknown depth, got {} layers, expected 50, 101 or 152", layers);
  }
  JobConfig recipe = bottleneck_recipe();
  recipe.training.epochs = 3;
  return make_resnet({.name = "wide_resnet",
                      .blocks = blocks.at(layers),
                      .recipe = std::move(recipe),
                      .classes = base.classes,
                      .size = base.size,
                      .width = base.width,
                      .factor = options.integer("factor", base.factor, 1, 64)},
                     options);
}

}  // namespace partita
