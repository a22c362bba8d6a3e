// A decoder-only transformer (Touvron et al., 2023, "LLaMA: open and efficient foundation language models"; Llama 2
// for grouped-query attention).

#include <cmath>

#include "network/functions.h"
#include "network/layers/layers.h"
#include "zoo/models.h"

namespace partita {
namespace {

struct LlamaOptions {
  int64_t layers, hidden, heads, kv_heads, intermediate, seq, vocab;
  bool tied;
};

/// x += attn(ln_1(x)); x += mlp(ln_2(x)).
class LlamaBlock : public Layer {
 public:
  LlamaBlock(const LlamaOptions& options, const InitRule& init, const InitRule& projection_init)
      : norm1_(rms_norm()),
        attention_(multi_head_attention(options.heads, {.causal = true,
                                                        .kv_heads = options.kv_heads,
                                                        .bias = false,
                                                        .rotary_base = 10000,
                                                        .init = init,
                                                        .projection_init = projection_init})),
        norm2_(rms_norm()),
        mlp_(swiglu({.inner = options.intermediate, .init = init, .projection_init = projection_init})) {}

  Value construct(Context& context, Value x) override {
    x = x + context.call("attn", *attention_, context.call("ln_1", *norm1_, x));
    return x + context.call("mlp", *mlp_, context.call("ln_2", *norm2_, x));
  }

 private:
  LayerPtr norm1_, attention_, norm2_, mlp_;
};

/// Tokens [b, s] to logits [b, s, vocab].
class Llama : public Layer {
 public:
  explicit Llama(const LlamaOptions& options) : options_(options), norm_(rms_norm()) {
    const double residual = kSigma / std::sqrt(2.0 * static_cast<double>(options.layers));
    std::vector<LayerPtr> blocks;
    for (int64_t i = 0; i < options.layers; ++i) {
      blocks.push_back(share(LlamaBlock(options, normal_initializer(0, kSigma), normal_initializer(0, residual))));
    }
    blocks_ = sequential(std::move(blocks));
    if (!options.tied) head_ = dense(options.vocab, {.bias = false, .init = normal_initializer(0, kSigma)});
  }

  Value construct(Context& context, Value tokens) override {
    const int64_t seq = tokens.type().rank() == 2 ? tokens.shape()[1] : 0;
    if (seq != options_.seq) {
      throw InvalidArgument(
          fmt::format("[llama] wrong tokens, got {}, expected [batch,{}]", print(tokens.type()), options_.seq));
    }
    const Value table =
        context.parameter("wte.weight", {options_.vocab, options_.hidden}, normal_initializer(0, kSigma));
    Value x = context.builder().apply("embedding", {table, tokens});
    x = context.call("ln_f", *norm_, context.call("h", *blocks_, x));
    if (head_) return context.call("head", *head_, x);
    return matmul(x, table, /*transpose_a=*/false, /*transpose_b=*/true);
  }

 private:
  static constexpr double kSigma = 0.02;

  LlamaOptions options_;
  LayerPtr norm_, blocks_, head_;
};

/// Two thirds of four times the width, so that three matrices have the parameters of two, in whole steps of 32.
int64_t usual_intermediate(int64_t hidden) { return (8 * hidden / 3 + 31) / 32 * 32; }

}  // namespace

ZooModel make_llama(ModelSizes& options) {
  const int64_t hidden = options.integer("hidden", 128, 1, 1 << 20), heads = options.integer("heads", 4, 1, 1 << 16);
  const LlamaOptions sizes{
      .layers = options.integer("layers", 4, 1, 1000),
      .hidden = hidden,
      .heads = heads,
      .kv_heads = options.integer("kv_heads", heads, 1, 1 << 16),
      .intermediate = options.integer("intermediate", usual_intermediate(hidden), 1, 1 << 22),
      .seq = options.integer("seq", 128, 1, 1 << 20),
      .vocab = options.integer("vocab", 256, 2, 1 << 24),
      .tied = options.integer("tied", 0, 0, 1) == 1,
  };
  JobConfig recipe{.training = {.batch = 32, .epochs = 1},
                   .optimizer = {.kind = OptimizerKind::adamw,
                                 .weight_decay = 0.1,
                                 .decay_vectors = false,
                                 .beta1 = 0.9,
                                 .beta2 = 0.95,
                                 .clip_norm = 1},
                   .schedule = {.kind = LrKind::cosine, .learning_rate = 1e-3, .warmup_steps = 100}};
  return {"llama",
          share(Llama(sizes)),
          {.input = "tokens", .tokens = sizes.seq, .classes = sizes.vocab},
          nullptr,
          std::move(recipe)};
}

}  // namespace partita
