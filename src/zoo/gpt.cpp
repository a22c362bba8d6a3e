// A decoder-only transformer (Radford et al., 2019, "Language models are unsupervised multitask learners").

#include <cmath>

#include "network/functions.h"
#include "network/layers/layers.h"
#include "zoo/models.h"

namespace partita {
namespace {

struct GptOptions {
  int64_t layers, hidden, heads, seq, vocab;
  double dropout;
};

/// Tokens [b, s] to logits [b, s, vocab]; the table of tokens is also the last layer.
class Gpt : public Layer {
 public:
  explicit Gpt(const GptOptions& options) : options_(options), dropout_(dropout(options.dropout)), norm_(layer_norm()) {
    const double sigma = 0.02, residual = sigma / std::sqrt(2.0 * static_cast<double>(options.layers));
    std::vector<LayerPtr> blocks;
    for (int64_t i = 0; i < options.layers; ++i) {
      blocks.push_back(transformer_block(options.heads, {.causal = true,
                                                         .dropout = options.dropout,
                                                         .init = normal_initializer(0, sigma),
                                                         .projection_init = normal_initializer(0, residual)}));
    }
    blocks_ = sequential(std::move(blocks));
  }

  Value construct(Context& context, Value tokens) override {
    Builder& builder = context.builder();
    const int64_t seq = tokens.type().rank() == 2 ? tokens.shape()[1] : 0;
    if (seq != options_.seq) {
      throw InvalidArgument(
          fmt::format("[gpt] wrong tokens, got {}, expected [batch,{}]", print(tokens.type()), options_.seq));
    }
    const Initializer init = normal_initializer(0, 0.02);
    const Value table = context.parameter("wte.weight", {options_.vocab, options_.hidden}, init);
    const Value positions = context.parameter("wpe.weight", {options_.seq, options_.hidden}, init);
    Value x = builder.apply("embedding", {table, tokens}) + positions;
    if (options_.dropout > 0) x = context.call("drop", *dropout_, x);
    x = context.call("ln_f", *norm_, context.call("h", *blocks_, x));
    return matmul(x, table, /*transpose_a=*/false, /*transpose_b=*/true);
  }

 private:
  GptOptions options_;
  LayerPtr dropout_, norm_, blocks_;
};

}  // namespace

ZooModel make_gpt(ModelSizes& options) {
  const GptOptions sizes{.layers = options.integer("layers", 4, 1, 1000),
                         .hidden = options.integer("hidden", 128, 1, 1 << 20),
                         .heads = options.integer("heads", 4, 1, 1 << 16),
                         .seq = options.integer("seq", 128, 1, 1 << 20),
                         .vocab = options.integer("vocab", 256, 2, 1 << 24),
                         .dropout = options.number("dropout", 0, 0, 0.99)};
  JobConfig recipe{.training = {.batch = 32, .epochs = 1},
                   .optimizer = {.kind = OptimizerKind::adamw,
                                 .weight_decay = 0.1,
                                 .decay_vectors = false,
                                 .beta1 = 0.9,
                                 .beta2 = 0.99,
                                 .clip_norm = 1},
                   .schedule = {.kind = LrKind::cosine, .learning_rate = 1e-3, .warmup_steps = 100}};
  return {"gpt",
          share(Gpt(sizes)),
          {.input = "tokens", .tokens = sizes.seq, .classes = sizes.vocab},
          nullptr,
          std::move(recipe)};
}

}  // namespace partita
