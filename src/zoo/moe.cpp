// A decoder-only transformer whose feed-forward parts are mixtures of experts (Lepikhin et al., 2021, "GShard"; Fedus
// et al., 2022, "Switch transformers"), with shared experts (Dai et al., 2024, "DeepSeekMoE").

#include <cmath>

#include "frontend/network/functions.h"
#include "zoo/token_model.h"

namespace partita {
namespace {

struct MoeOptions {
  int64_t layers, hidden, heads, seq, vocab;
  double dropout;
  int64_t every;  // the last of every `every` blocks has experts
  MixtureOfExpertsOptions experts;
};

/// Sizes of a published language model and its experts.
struct PublishedMoe {
  int64_t layers, hidden, heads, seq, vocab, experts, inner = 0, every = 1;
  double capacity = 1.25;
};

/// Returns the published sizes by name: GShard in the sizes of Zheng et al., 2022 ("Alpa"), table 6.
const std::vector<std::pair<std::string, PublishedMoe>>& published_moes() {
  const auto gshard = [](int64_t layers, int64_t hidden, int64_t experts) -> PublishedMoe {
    return {layers, hidden, 16, 1024, 32000, experts, 8 * hidden, 2, 1};
  };
  static const std::vector<std::pair<std::string, PublishedMoe>> list{
      {"380m", gshard(8, 768, 8)},    {"690m", gshard(8, 768, 16)},   {"1.3b", gshard(16, 768, 16)},
      {"2.4b", gshard(16, 1024, 16)}, {"10b", gshard(16, 1536, 32)},  {"27b", gshard(16, 2048, 48)},
      {"70b", gshard(32, 2048, 64)},  {"140b", gshard(32, 2048, 128)}};
  return list;
}

/// x += attn(ln_1(x)); x += moe(ln_2(x)).
class MoeBlock : public Layer {
 public:
  explicit MoeBlock(const MoeOptions& options)
      : norm1_(layer_norm()),
        attention_(multi_head_attention(options.heads, {.causal = true,
                                                        .dropout = options.dropout,
                                                        .init = options.experts.init,
                                                        .projection_init = options.experts.projection_init})),
        norm2_(layer_norm()),
        experts_(mixture_of_experts(options.experts)),
        dropout_(options.dropout > 0 ? dropout(options.dropout) : nullptr) {}

  Value construct(Context& context, Value x) override {
    x = x + context.call("attn", *attention_, context.call("ln_1", *norm1_, x));
    const Value y = context.call("moe", *experts_, context.call("ln_2", *norm2_, x));
    return x + (dropout_ ? context.call("drop", *dropout_, y) : y);
  }

 private:
  LayerPtr norm1_, attention_, norm2_, experts_, dropout_;
};

/// Maps tokens [b, s] to logits [b, s, vocab]. The token embedding is also the output layer. Throws InvalidArgument for
/// rows of other sizes.
LayerPtr moe(const MoeOptions& options) {
  LayerPtr blocks = repeated(options.layers, [&](int64_t i) -> LayerPtr {
    if ((i + 1) % options.every == 0) return share(MoeBlock(options));
    return transformer_block(options.heads, {.inner = options.experts.inner,
                                             .causal = true,
                                             .dropout = options.dropout,
                                             .init = options.experts.init,
                                             .projection_init = options.experts.projection_init});
  });
  return token_decoder({"moe", options.seq, options.vocab, options.hidden, options.dropout}, std::move(blocks),
                       layer_norm());
}

}  // namespace

ZooModel make_moe(ModelSizes& options) {
  const PublishedMoe base = options.published(published_moes(), {4, 128, 4, 128, 256, 8});
  MoeOptions sizes{.layers = options.integer("layers", base.layers, 1, kMaxLayers),
                   .hidden = options.integer("hidden", base.hidden, 1, 1 << 20),
                   .heads = options.integer("heads", base.heads, 1, 1 << 16),
                   .seq = options.integer("seq", base.seq, 1, 1 << 20),
                   .vocab = options.integer("vocab", base.vocab, 2, 1 << 24),
                   .dropout = options.number("dropout", 0, 0, 0.99),
                   .every = options.integer("every", base.every, 1, kMaxLayers),
                   .experts = {.experts = options.integer("experts", base.experts, 1, 1 << 16),
                               .top_k = options.integer("top_k", 2, 1, 1 << 16),
                               .capacity = options.number("capacity", base.capacity, 0, 1 << 16),
                               .inner = options.integer("expert_hidden", base.inner, 0, 1 << 20),
                               .shared = options.integer("shared", 0, 0, 1 << 10),
                               .balance = options.number("balance", 0.01, 0, 1e6)}};
  const double sigma = 0.02, residual = sigma / std::sqrt(2.0 * static_cast<double>(sizes.layers));
  sizes.experts.init = normal_initializer(0, sigma);
  sizes.experts.projection_init = normal_initializer(0, residual);
  return {"moe", moe(sizes), text_format(sizes.seq, sizes.vocab), nullptr, token_recipe(1, 0.1)};
}

}  // namespace partita
