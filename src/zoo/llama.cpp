// A decoder-only transformer (Touvron et al., 2023, "LLaMA: open and efficient foundation language models"; Llama 2
// for grouped-query attention).

#include <cmath>

#include "frontend/network/functions.h"
#include "zoo/token_model.h"

namespace partita {
namespace {

struct LlamaOptions {
  int64_t layers, hidden, heads, kv_heads, intermediate, seq, vocab;
  bool tied = false;
  double rotary_base = 10000;
  RotaryScaling rotary_scaling{};
  double epsilon = 1e-5;
  int64_t head_width = 0;
  int64_t longest = 0;                   // rows that the weights are made for, at most; 0: seq
  bool bias = false, proj_bias = false;  // biases of q, k and v; of proj
  bool head_norm = false;
  MixtureOfExpertsOptions experts{.experts = 0};  // 0: one feed-forward part for all tokens
};

/// Returns the published sizes by name. From Grattafiori et al., 2024, "The Llama 3 herd of models", table 3; 1b and
/// 3b: the model cards of Llama 3.2.
const std::vector<std::pair<std::string, LlamaOptions>>& published_llamas() {
  constexpr int64_t kSeq = 8192, kVocab = 128256;
  constexpr double kBase = 500000;
  static const std::vector<std::pair<std::string, LlamaOptions>> list{
      {"1b", {16, 2048, 32, 8, 8192, kSeq, kVocab, /*tied=*/true, kBase}},
      {"3b", {28, 3072, 24, 8, 8192, kSeq, kVocab, /*tied=*/true, kBase}},
      {"8b", {32, 4096, 32, 8, 14336, kSeq, kVocab, /*tied=*/false, kBase}},
      {"70b", {80, 8192, 64, 8, 28672, kSeq, kVocab, /*tied=*/false, kBase}},
      {"405b", {126, 16384, 128, 8, 53248, kSeq, kVocab, /*tied=*/false, kBase}}};
  return list;
}

/// x += attn(ln_1(x)); x += mlp(ln_2(x)), or moe(ln_2(x)) with experts.
class LlamaBlock : public Layer {
 public:
  LlamaBlock(const LlamaOptions& options, const InitRule& init, const InitRule& projection_init)
      : norm1_(rms_norm({.epsilon = options.epsilon})),
        attention_(multi_head_attention(options.heads, {.causal = true,
                                                        .kv_heads = options.kv_heads,
                                                        .head_width = options.head_width,
                                                        .bias = options.bias,
                                                        .rotary_base = options.rotary_base,
                                                        .rotary_scaling = options.rotary_scaling,
                                                        .init = init,
                                                        .projection_init = projection_init,
                                                        .key_bias = options.bias,
                                                        .projection_bias = options.proj_bias,
                                                        .head_norm = options.head_norm ? options.epsilon : 0})),
        norm2_(rms_norm({.epsilon = options.epsilon})),
        has_experts_(options.experts.experts > 0) {
    MixtureOfExpertsOptions experts = options.experts;
    experts.inner = options.intermediate;
    experts.gated = true;
    experts.init = init;
    experts.projection_init = projection_init;
    mlp_ = has_experts_ ? mixture_of_experts(experts)
                        : swiglu({.inner = options.intermediate, .init = init, .projection_init = projection_init});
  }

  Value construct(Context& context, Value x) override {
    x = x + context.call("attn", *attention_, context.call("ln_1", *norm1_, x));
    return x + context.call(has_experts_ ? "moe" : "mlp", *mlp_, context.call("ln_2", *norm2_, x));
  }

 private:
  LayerPtr norm1_, attention_, norm2_, mlp_;
  bool has_experts_;
};

/// Maps tokens [b, s] to logits [b, s, vocab]. Throws InvalidArgument for rows of other sizes.
LayerPtr llama(const LlamaOptions& options) {
  const double sigma = 0.02, residual = sigma / std::sqrt(2.0 * static_cast<double>(options.layers));
  LayerPtr blocks = repeated(options.layers, [&](int64_t) {
    return share(LlamaBlock(options, normal_initializer(0, sigma), normal_initializer(0, residual)));
  });
  LayerPtr head = options.tied ? nullptr : dense(options.vocab, {.bias = false, .init = normal_initializer(0, sigma)});
  return token_decoder({"llama", options.seq, options.vocab, options.hidden, 0, /*has_positions=*/false},
                       std::move(blocks), rms_norm({.epsilon = options.epsilon}), std::move(head));
}

/// Returns two thirds of four times the width `hidden`, rounded up to a multiple of 32, as the width of SwiGLU. Its
/// three matrices then have the parameters of the usual two.
int64_t usual_intermediate(int64_t hidden) { return (8 * hidden / 3 + 31) / 32 * 32; }

}  // namespace

ZooModel make_llama(ModelSizes& options) {
  const LlamaOptions base = options.published(published_llamas(), {4, 128, 4, 0, 0, 128, 256});
  const int64_t hidden = options.integer("hidden", base.hidden, 1, 1 << 20);
  const int64_t heads = options.integer("heads", base.heads, 1, 1 << 16);
  const LlamaOptions sizes{
      .layers = options.integer("layers", base.layers, 1, kMaxLayers),
      .hidden = hidden,
      .heads = heads,
      .kv_heads = options.integer("kv_heads", base.kv_heads > 0 ? base.kv_heads : heads, 1, 1 << 16),
      .intermediate = options.integer(
          "intermediate", base.intermediate > 0 ? base.intermediate : usual_intermediate(hidden), 1, 1 << 22),
      .seq = options.integer("seq", base.seq, 1, 1 << 20),
      .vocab = options.integer("vocab", base.vocab, 2, 1 << 24),
      .tied = options.flag("tied", base.tied),
      .rotary_base = options.number("rotary_base", base.rotary_base, 1, 1e12),
      .rotary_scaling = {.factor = options.number("rotary_factor", 1, 1, 1e6),
                         .low = options.number("rotary_low", 1, 1e-6, 1e6),
                         .high = options.number("rotary_high", 4, 1e-6, 1e6),
                         .trained = options.integer("rotary_trained", 0, 0, 1 << 24)},
      .epsilon = options.number("epsilon", base.epsilon, 1e-12, 1),
      .head_width = options.integer("head_width", 0, 0, 1 << 16),
      .longest = options.integer("longest", 0, 0, 1 << 24),
      .bias = options.flag("bias", false),
      .proj_bias = options.flag("proj_bias", false),
      .head_norm = options.flag("head_norm", false),
      .experts = {.experts = options.integer("experts", 0, 0, 1 << 16),
                  .top_k = options.integer("top_k", 2, 1, 1 << 16),
                  .capacity = options.number("capacity", 0, 0, 1 << 16),
                  .balance = options.number("balance", 0.01, 0, 1e6)},
  };
  require_length("llama", sizes.seq, sizes.longest);
  if (sizes.rotary_scaling.high <= sizes.rotary_scaling.low) {
    throw InvalidArgument("[llama] rotary_high is not above rotary_low, got {} and {}, expected a greater number",
                          sizes.rotary_scaling.high, sizes.rotary_scaling.low);
  }
  JobConfig recipe = token_recipe(1, 0.1);
  recipe.optimizer.beta2 = 0.95;
  return {"llama", llama(sizes), text_format(sizes.seq, sizes.vocab), nullptr, std::move(recipe)};
}

}  // namespace partita
