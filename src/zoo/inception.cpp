// Inception v3 (Szegedy et al., 2015, "Rethinking the inception architecture for computer vision") without the
// auxiliary classifier, with torchvision's names.

#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "zoo/models.h"

namespace partita {
namespace {

struct InceptionOptions {
  int64_t classes, size, width;
  double dropout = 0;
};

/// A convolution with batch norm and relu. Kernel sizes are odd.
struct Unit {
  std::string name;
  int64_t channels;
  std::vector<int64_t> kernel{1, 1};
  int64_t stride = 1;
  bool same = true;  // padded so that the output has the size of the input
};

class ConvolutionUnit : public Layer {
 public:
  explicit ConvolutionUnit(const Unit& unit) : norm_(batch_norm({.epsilon = 1e-3})) {
    const int64_t top = unit.same ? unit.kernel[0] / 2 : 0, left = unit.same ? unit.kernel[1] / 2 : 0;
    conv_ = conv2d(unit.channels, unit.kernel,
                   Conv2dOptions{.stride = {unit.stride, unit.stride},
                                 .padding = Padding::explicit_,
                                 .pads = {top, left, top, left},
                                 .bias = false});
  }

  Value construct(Context& context, Value x) override {
    return relu(context.call("bn", *norm_, context.call("conv", *conv_, x)));
  }

 private:
  LayerPtr conv_, norm_;
};

enum class Pool { none, average, max };

/// An optional pool, then `units` in sequence, then `ends` in parallel.
struct Branch {
  std::vector<Unit> units;
  std::vector<Unit> ends{};
  Pool pool = Pool::none;
};

/// Applies branches to one input and concatenates their outputs along the channels.
class InceptionBlock : public Layer {
 public:
  explicit InceptionBlock(std::vector<Branch> branches) : branches_(std::move(branches)) {
    for (const Branch& branch : branches_) {
      for (const auto* units : {&branch.units, &branch.ends}) {
        for (const Unit& unit : *units) layers_.emplace(unit.name, share(ConvolutionUnit(unit)));
      }
    }
  }

  Value construct(Context& context, Value x) override {
    std::vector<Value> parts;
    for (const Branch& branch : branches_) {
      Value y = x;
      if (branch.pool == Pool::average) y = context.call("avgpool", *average_, y);
      if (branch.pool == Pool::max) y = context.call("maxpool", *max_, y);
      for (const Unit& unit : branch.units) y = context.call(unit.name, *layers_.at(unit.name), y);
      for (const Unit& unit : branch.ends) parts.push_back(context.call(unit.name, *layers_.at(unit.name), y));
      if (branch.ends.empty()) parts.push_back(y);
    }
    return apply("concat", parts, ConcatAttrs{.axis = 1});
  }

 private:
  std::vector<Branch> branches_;
  std::map<std::string, LayerPtr> layers_;
  LayerPtr average_ = avg_pool(3, {.stride = 1, .padding = 1}), max_ = max_pool(3, {.stride = 2});
};

/// Builds the blocks. Numbers of channels are those of the published network, whose width is 32, and are scaled to
/// `width`.
class InceptionBlocks {
 public:
  explicit InceptionBlocks(int64_t width) : width_(width) {}

  int64_t channels(int64_t published) const { return std::max<int64_t>(1, published * width_ / 32); }

  LayerPtr a(int64_t pool) const {
    return block(
        {{{unit("branch1x1", 64)}},
         {{unit("branch5x5_1", 48), unit("branch5x5_2", 64, {5, 5})}},
         {{unit("branch3x3dbl_1", 64), unit("branch3x3dbl_2", 96, {3, 3}), unit("branch3x3dbl_3", 96, {3, 3})}},
         {{unit("branch_pool", pool)}, {}, Pool::average}});
  }
  LayerPtr b() const {
    return block({{{half("branch3x3", 384)}},
                  {{unit("branch3x3dbl_1", 64), unit("branch3x3dbl_2", 96, {3, 3}), half("branch3x3dbl_3", 96)}},
                  {{}, {}, Pool::max}});
  }
  LayerPtr c(int64_t inner) const {
    return block(
        {{{unit("branch1x1", 192)}},
         {{unit("branch7x7_1", inner), unit("branch7x7_2", inner, {1, 7}), unit("branch7x7_3", 192, {7, 1})}},
         {{unit("branch7x7dbl_1", inner), unit("branch7x7dbl_2", inner, {7, 1}), unit("branch7x7dbl_3", inner, {1, 7}),
           unit("branch7x7dbl_4", inner, {7, 1}), unit("branch7x7dbl_5", 192, {1, 7})}},
         {{unit("branch_pool", 192)}, {}, Pool::average}});
  }
  LayerPtr d() const {
    return block({{{unit("branch3x3_1", 192), half("branch3x3_2", 320)}},
                  {{unit("branch7x7x3_1", 192), unit("branch7x7x3_2", 192, {1, 7}), unit("branch7x7x3_3", 192, {7, 1}),
                    half("branch7x7x3_4", 192)}},
                  {{}, {}, Pool::max}});
  }
  LayerPtr e() const {
    return block({{{unit("branch1x1", 320)}},
                  {{unit("branch3x3_1", 384)}, {unit("branch3x3_2a", 384, {1, 3}), unit("branch3x3_2b", 384, {3, 1})}},
                  {{unit("branch3x3dbl_1", 448), unit("branch3x3dbl_2", 384, {3, 3})},
                   {unit("branch3x3dbl_3a", 384, {1, 3}), unit("branch3x3dbl_3b", 384, {3, 1})}},
                  {{unit("branch_pool", 192)}, {}, Pool::average}});
  }
  LayerPtr stem(int64_t published, int64_t kernel, int64_t stride, bool same) const {
    return share(ConvolutionUnit({"", channels(published), {kernel, kernel}, stride, same}));
  }

 private:
  static LayerPtr block(std::vector<Branch> branches) { return share(InceptionBlock(std::move(branches))); }
  Unit unit(std::string name, int64_t published, std::vector<int64_t> kernel = {1, 1}) const {
    return {std::move(name), channels(published), std::move(kernel)};
  }
  /// Returns a 3x3 convolution with stride 2 and without padding. It makes (n - 1) / 2 rows, rounded down, of n, and
  /// columns alike. `published` is its number of channels at width 32.
  Unit half(std::string name, int64_t published) const {
    return {std::move(name), channels(published), {3, 3}, /*stride=*/2, /*same=*/false};
  }

  int64_t width_;
};

LayerPtr inception_v3(const InceptionOptions& options) {
  const InceptionBlocks blocks(options.width);
  std::vector<std::pair<std::string, LayerPtr>> layers{{"Conv2d_1a_3x3", blocks.stem(32, 3, 2, /*same=*/false)},
                                                       {"Conv2d_2a_3x3", blocks.stem(32, 3, 1, /*same=*/false)},
                                                       {"Conv2d_2b_3x3", blocks.stem(64, 3, 1, /*same=*/true)},
                                                       {"maxpool1", max_pool(3, {.stride = 2})},
                                                       {"Conv2d_3b_1x1", blocks.stem(80, 1, 1, /*same=*/true)},
                                                       {"Conv2d_4a_3x3", blocks.stem(192, 3, 1, /*same=*/false)},
                                                       {"maxpool2", max_pool(3, {.stride = 2})},
                                                       {"Mixed_5b", blocks.a(32)},
                                                       {"Mixed_5c", blocks.a(64)},
                                                       {"Mixed_5d", blocks.a(64)},
                                                       {"Mixed_6a", blocks.b()},
                                                       {"Mixed_6b", blocks.c(128)},
                                                       {"Mixed_6c", blocks.c(160)},
                                                       {"Mixed_6d", blocks.c(160)},
                                                       {"Mixed_6e", blocks.c(192)},
                                                       {"Mixed_7a", blocks.d()},
                                                       {"Mixed_7b", blocks.e()},
                                                       {"Mixed_7c", blocks.e()},
                                                       {"avgpool", global_avg_pool()}};
  if (options.dropout > 0) layers.emplace_back("dropout", dropout(options.dropout));
  layers.emplace_back("fc", dense(options.classes, {.init = normal_initializer(0, 0.01)}));
  return sequential(std::move(layers));
}

}  // namespace

ZooModel make_inception(ModelSizes& options) {
  const InceptionOptions base = options.published<InceptionOptions>({{"v3", {1000, 299, 32, 0.5}}}, {10, 75, 2});
  const InceptionOptions sizes{.classes = options.integer("classes", base.classes, 2, 1 << 20),
                               .size = options.integer("size", base.size, 75, 1024),
                               .width = options.integer("width", base.width, 1, 4096),
                               .dropout = options.number("dropout", base.dropout, 0, 0.99)};
  JobConfig recipe{.training = {.batch = 64, .epochs = 3},
                   .optimizer = {.kind = OptimizerKind::adamw, .weight_decay = 0.05, .decay_vectors = false},
                   .schedule = {.kind = LrKind::cosine, .learning_rate = 4e-3, .warmup_steps = 10}};
  return {"inception", inception_v3(sizes),
          image_format({options.integer("channels", 3, 1, kMaxChannels), sizes.size, sizes.size}, sizes.classes),
          nullptr, std::move(recipe)};
}

}  // namespace partita
