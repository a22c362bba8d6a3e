// An encoder and a decoder that attends to it (Raffel et al., 2020, "Exploring the limits of transfer learning with a
// unified text-to-text transformer"), trained to continue a text.

#include <cmath>

#include "frontend/network/functions.h"
#include "ir/ops/constant.h"
#include "zoo/token_model.h"

namespace partita {
namespace {

struct T5Options {
  int64_t layers, hidden, heads, head_width, inner, seq, target, vocab;  // layers: in each of the two stacks
  double dropout = 0;
};

const std::vector<std::pair<std::string, T5Options>>& published_t5s() {
  constexpr int64_t kSeq = 512, kTarget = 114, kVocab = 32128;  // section 3.1.4
  static const std::vector<std::pair<std::string, T5Options>> list{
      {"small", {6, 512, 8, 64, 2048, kSeq, kTarget, kVocab, 0.1}},
      {"base", {12, 768, 12, 64, 3072, kSeq, kTarget, kVocab, 0.1}},
      {"large", {24, 1024, 16, 64, 4096, kSeq, kTarget, kVocab, 0.1}},
      {"3b", {24, 1024, 32, 128, 16384, kSeq, kTarget, kVocab, 0.1}},
      {"11b", {24, 1024, 128, 128, 65536, kSeq, kTarget, kVocab, 0.1}}};
  return list;
}

LayerPtr t5_norm() { return rms_norm({.epsilon = 1e-6}); }
Initializer t5_init(int64_t fan_in) { return normal_initializer(0, 1 / std::sqrt(static_cast<double>(fan_in))); }
LayerPtr t5_dropout(const T5Options& options) { return options.dropout > 0 ? dropout(options.dropout) : nullptr; }

/// Returns an attention layer whose scores are not scaled. The initial weights of q are smaller instead.
LayerPtr t5_attention(const T5Options& options) {
  return multi_head_attention(options.heads, {.head_width = options.head_width,
                                              .scale = 1,
                                              .bias = false,
                                              .dropout = options.dropout,
                                              .init = t5_init(options.hidden * options.head_width),
                                              .projection_init = t5_init(options.heads * options.head_width)});
}

/// wo(relu(wi(x))).
class T5FeedForward : public Layer {
 public:
  explicit T5FeedForward(const T5Options& options)
      : in_(dense(options.inner, {.bias = false, .init = t5_init(options.hidden)})),
        out_(dense(options.hidden, {.bias = false, .init = t5_init(options.inner)})),
        dropout_(t5_dropout(options)) {}

  Value construct(Context& context, Value x) override {
    const Value y = context.call("wo", *out_, relu(context.call("wi", *in_, x)));
    return dropout_ ? context.call("drop", *dropout_, y) : y;
  }

 private:
  LayerPtr in_, out_, dropout_;
};

/// Inputs: x, the position bias and, in a decoder, the encoder's output. x += attn(ln_1(x)); x += cross(ln_2(x),
/// encoded); x += mlp(ln_3(x)).
class T5Block : public Layer {
 public:
  T5Block(const T5Options& options, bool decodes)
      : norm1_(t5_norm()),
        attention_(t5_attention(options)),
        norm2_(t5_norm()),
        cross_(decodes ? t5_attention(options) : nullptr),
        norm3_(t5_norm()),
        mlp_(share(T5FeedForward(options))) {}

  std::vector<Value> construct_all(Context& context, const std::vector<Value>& inputs) override {
    Value x = inputs.at(0);
    const Value normal = context.call("ln_1", *norm1_, x);
    x = x + context.call("attn", *attention_, {normal, normal, inputs.at(1)})[0];
    if (cross_) {
      x = x + context.call("cross", *cross_, {context.call("ln_2", *norm2_, x), inputs.at(2)})[0];
    }
    return {x + context.call("mlp", *mlp_, context.call("ln_3", *norm3_, x))};
  }

 private:
  LayerPtr norm1_, attention_, norm2_, cross_, norm3_, mlp_;
};

/// Blocks that share one position bias, with dropout before the first and after the last.
class T5Stack : public Layer {
 public:
  T5Stack(const T5Options& options, bool decodes)
      : bias_(relative_bias(options.heads, {.causal = decodes, .init = t5_init(options.hidden)})),
        norm_(t5_norm()),
        dropout_(t5_dropout(options)),
        last_dropout_(t5_dropout(options)) {
    for (int64_t i = 0; i < options.layers; ++i) blocks_.push_back(share(T5Block(options, decodes)));
  }

  std::vector<Value> construct_all(Context& context, const std::vector<Value>& inputs) override {
    std::vector<Value> values = inputs;
    values.insert(values.begin() + 1, context.call("bias", *bias_, inputs.at(0)));
    if (dropout_) values[0] = context.call("drop", *dropout_, values[0]);
    for (size_t i = 0; i < blocks_.size(); ++i) values[0] = context.call(fmt::format("{}", i), *blocks_[i], values)[0];
    const Value y = context.call("ln_f", *norm_, values[0]);
    return {last_dropout_ ? context.call("drop_f", *last_dropout_, y) : y};
  }

 private:
  LayerPtr bias_, norm_, dropout_, last_dropout_;
  std::vector<LayerPtr> blocks_;
};

/// Maps tokens [b, s] and their continuation [b, t] to the logits of the continuation, [b, t, vocab]. Each logit
/// depends only on earlier tokens of the continuation. One token embedding is shared by both stacks and the output
/// layer. Throws InvalidArgument for rows of other sizes.
class T5 : public Layer {
 public:
  explicit T5(const T5Options& options)
      : options_(options),
        encoder_(share(T5Stack(options, /*decodes=*/false))),
        decoder_(share(T5Stack(options, /*decodes=*/true))) {}

  std::vector<Value> construct_all(Context& context, const std::vector<Value>& inputs) override {
    const Value tokens = inputs.at(0), label = inputs.at(1);
    const auto fits = [](Value ids, int64_t length) { return ids.type().rank() == 2 && ids.shape()[1] == length; };
    if (!fits(tokens, options_.seq) || !fits(label, options_.target)) {
      throw InvalidArgument("[t5] wrong rows, got tokens {} and label {}, expected [batch,{}] and [batch,{}]",
                            print(tokens.type()), print(label.type()), options_.seq, options_.target);
    }
    const Value table = context.parameter("shared.weight", {options_.vocab, options_.hidden}, normal_initializer(0, 1));
    const auto embedded = [&](Value ids) { return apply("embedding", {table, ids}); };
    const Value encoded = context.call("encoder", *encoder_, std::vector{embedded(tokens)})[0];
    const Value y = context.call("decoder", *decoder_, {embedded(shifted(context, label)), encoded})[0];
    const double scale = 1 / std::sqrt(static_cast<double>(options_.hidden));
    return {matmul(y * scale, table, /*transpose_a=*/false, /*transpose_b=*/true)};
  }

 private:
  /// Returns the tokens shifted by one position: token 0 first, the last token dropped.
  static Value shifted(Context& context, Value ids) {
    const Shape& shape = ids.shape();
    const Value first = constant(context.builder(), 0, {ids.dtype(), {shape[0], 1}});
    if (shape[1] == 1) return first;
    const Value rest = apply("slice", {ids}, SliceAttrs{.begin = {0, 0}, .end = {shape[0], shape[1] - 1}});
    return apply("concat", {first, rest}, ConcatAttrs{.axis = 1});
  }

  T5Options options_;
  LayerPtr encoder_, decoder_;
};

}  // namespace

ZooModel make_t5(ModelSizes& options) {
  const T5Options base = options.published(published_t5s(), {2, 64, 4, 0, 0, 16, 32, 256});
  const int64_t hidden = options.integer("hidden", base.hidden, 1, 1 << 20);
  const int64_t heads = options.integer("heads", base.heads, 1, 1 << 16);
  const int64_t usual_width = base.head_width > 0 ? base.head_width : std::max<int64_t>(1, hidden / heads);
  const T5Options sizes{.layers = options.integer("layers", base.layers, 1, kMaxLayers),
                        .hidden = hidden,
                        .heads = heads,
                        .head_width = options.integer("head_width", usual_width, 1, 1 << 16),
                        .inner = options.integer("inner", base.inner > 0 ? base.inner : 4 * hidden, 1, 1 << 22),
                        .seq = options.integer("seq", base.seq, 1, 1 << 20),
                        .target = options.integer("target", base.target, 1, 1 << 20),
                        .vocab = options.integer("vocab", base.vocab, 2, 1 << 24),
                        .dropout = options.number("dropout", base.dropout, 0, 0.99)};
  JobConfig recipe = token_recipe(2, 0.01);
  recipe.schedule.learning_rate = 3e-3;
  RowFormat rows = text_format(sizes.seq, sizes.vocab);
  rows.text = {.tokens = sizes.seq, .task = TextTask::continuation, .targets = sizes.target};
  return {"t5", share(T5(sizes)), std::move(rows), nullptr, std::move(recipe), {"tokens", "label"}};
}

}  // namespace partita
