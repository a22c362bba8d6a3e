// An encoder of the patches of an image (Dosovitskiy et al., 2020, "An image is worth 16x16 words").

#include "frontend/network/functions.h"
#include "zoo/token_model.h"

namespace partita {
namespace {

struct VitOptions {
  int64_t layers, hidden, heads, inner, size, patch, classes;
  double dropout = 0;
  double epsilon = 1e-5;
  bool key_bias = false;
};

/// Returns the published sizes by name, the smallest first. base, large and huge: Table 1 of Dosovitskiy et al. tiny
/// and small: Touvron et al., 2020, "Training data-efficient image transformers". giant: Zhai et al., 2021, "Scaling
/// vision transformers", g/14.
const std::vector<std::pair<std::string, VitOptions>>& published_vits() {
  static const std::vector<std::pair<std::string, VitOptions>> list{
      {"tiny", {12, 192, 3, 768, 224, 16, 1000}},    {"small", {12, 384, 6, 1536, 224, 16, 1000}},
      {"base", {12, 768, 12, 3072, 224, 16, 1000}},  {"large", {24, 1024, 16, 4096, 224, 16, 1000}},
      {"huge", {32, 1280, 16, 5120, 224, 14, 1000}}, {"giant", {40, 1408, 16, 6144, 224, 14, 1000}}};
  return list;
}

/// Maps images [b, c, h, w] to logits [b, classes], computed from a class token that is prepended to the patches.
class Vit : public Layer {
 public:
  explicit Vit(const VitOptions& options)
      : options_(options),
        patches_(conv2d(options.hidden, options.patch,
                        {.stride = {options.patch, options.patch}, .init = Init::xavier_uniform})),
        dropout_(options.dropout > 0 ? dropout(options.dropout) : nullptr),
        norm_(layer_norm({.epsilon = options.epsilon})),
        head_(dense(options.classes, {.init = normal_initializer(0, kSigma)})),
        blocks_(repeated(options.layers, [&](int64_t) {
          return transformer_block(options.heads, {.inner = options.inner,
                                                   .epsilon = options.epsilon,
                                                   .key_bias = options.key_bias,
                                                   .dropout = options.dropout});
        })) {}

  Value construct(Context& context, Value images) override {
    const Value cells = context.call("patches", *patches_, images);
    const Shape grid = cells.shape();
    const int64_t batch = grid[0], hidden = options_.hidden, count = grid[2] * grid[3];
    const Value tokens = transpose(reshape(cells, {batch, hidden, count}), {0, 2, 1});
    const Value own = context.parameter("class_token", {hidden}, normal_initializer(0, kSigma));
    const Value first =
        apply("broadcast_to", {reshape(own, {1, 1, hidden})}, BroadcastAttrs{.shape = {batch, 1, hidden}});
    Value x = apply("concat", {first, tokens}, ConcatAttrs{.axis = 1});
    x = x + context.parameter("wpe.weight", {count + 1, hidden}, normal_initializer(0, kSigma));
    if (dropout_) x = context.call("drop", *dropout_, x);
    x = context.call("ln_f", *norm_, context.call("h", *blocks_, x));
    const Value seen = apply("slice", {x}, SliceAttrs{.begin = {0, 0, 0}, .end = {batch, 1, hidden}});
    return context.call("head", *head_, reshape(seen, {batch, hidden}));
  }

 private:
  static constexpr double kSigma = 0.02;

  VitOptions options_;
  LayerPtr patches_, dropout_, norm_, head_, blocks_;
};

}  // namespace

ZooModel make_vit(ModelSizes& options) {
  const VitOptions base = options.published(published_vits(), {2, 64, 4, 0, 32, 8, 10});
  const int64_t hidden = options.integer("hidden", base.hidden, 1, 1 << 20);
  const VitOptions sizes{.layers = options.integer("layers", base.layers, 1, kMaxLayers),
                         .hidden = hidden,
                         .heads = options.integer("heads", base.heads, 1, 1 << 16),
                         .inner = options.integer("inner", base.inner > 0 ? base.inner : 4 * hidden, 1, 1 << 22),
                         .size = options.integer("size", base.size, 8, 1024),
                         .patch = options.integer("patch", base.patch, 1, 1024),
                         .classes = options.integer("classes", base.classes, 2, 1 << 20),
                         .dropout = options.number("dropout", base.dropout, 0, 0.99),
                         .epsilon = options.number("epsilon", 1e-5, 0, 1),
                         .key_bias = options.flag("key_bias", false)};
  if (sizes.size % sizes.patch != 0) {
    throw InvalidArgument("[vit] patches do not divide the image, got {} of {}, expected a divisor", sizes.patch,
                          sizes.size);
  }
  JobConfig recipe{
      .training = {.batch = 64, .epochs = 3},
      .optimizer = {.kind = OptimizerKind::adamw, .weight_decay = 0.05, .decay_vectors = false, .clip_norm = 1},
      .schedule = {.kind = LrKind::cosine, .learning_rate = 1e-3, .warmup_steps = 20}};
  return {"vit", share(Vit(sizes)),
          image_format({options.integer("channels", 3, 1, kMaxChannels), sizes.size, sizes.size}, sizes.classes),
          nullptr, std::move(recipe)};
}

}  // namespace partita
