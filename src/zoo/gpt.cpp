// A decoder-only transformer (Radford et al., 2019, "Language models are unsupervised multitask learners").

#include <cmath>

#include "zoo/token_model.h"

namespace partita {
namespace {

struct GptOptions {
  int64_t layers, hidden, heads, seq, vocab;
  double dropout = 0;
  int64_t inner = 0, positions = 0;
  double epsilon = 1e-5;
  bool gelu_tanh = false, key_bias = false, tied = true;
};

/// Returns the published sizes by name: GPT-3 (Brown et al., 2020, table 2.1, with heads that divide the width), then
/// Megatron-LM (Narayanan et al., 2021, table 1; Korthikanti et al., 2022, table 3), whose vocabulary is padded.
const std::vector<std::pair<std::string, GptOptions>>& published_gpts() {
  constexpr int64_t kSeq = 2048, kVocab = 50257, kPadded = 51200;
  static const std::vector<std::pair<std::string, GptOptions>> list{
      {"125m", {12, 768, 12, kSeq, kVocab}},       {"350m", {24, 1024, 16, kSeq, kVocab}},
      {"760m", {24, 1536, 16, kSeq, kVocab}},      {"1.3b", {24, 2048, 16, kSeq, kVocab}},
      {"2.7b", {32, 2560, 32, kSeq, kVocab}},      {"6.7b", {32, 4096, 32, kSeq, kVocab}},
      {"13b", {40, 5120, 40, kSeq, kVocab}},       {"175b", {96, 12288, 96, kSeq, kVocab}},
      {"1.7b", {24, 2304, 24, kSeq, kPadded}},     {"3.6b", {30, 3072, 32, kSeq, kPadded}},
      {"7.5b", {36, 4096, 32, kSeq, kPadded}},     {"18.4b", {40, 6144, 48, kSeq, kPadded}},
      {"22b", {48, 6144, 64, kSeq, kPadded}},      {"39.1b", {48, 8192, 64, kSeq, kPadded}},
      {"76.1b", {60, 10240, 80, kSeq, kPadded}},   {"145.6b", {80, 12288, 96, kSeq, kPadded}},
      {"310.1b", {96, 16384, 128, kSeq, kPadded}}, {"530b", {105, 20480, 128, kSeq, kPadded}},
      {"1t", {128, 25600, 160, kSeq, kPadded}}};
  return list;
}

/// Maps tokens [b, s] to logits [b, s, vocab]. Throws InvalidArgument for rows of other sizes.
LayerPtr gpt(const GptOptions& options) {
  const double sigma = 0.02, residual = sigma / std::sqrt(2.0 * static_cast<double>(options.layers));
  LayerPtr blocks = repeated(options.layers, [&](int64_t) {
    return transformer_block(options.heads, {.inner = options.inner,
                                             .epsilon = options.epsilon,
                                             .key_bias = options.key_bias,
                                             .causal = true,
                                             .approximate_gelu = options.gelu_tanh,
                                             .dropout = options.dropout,
                                             .init = normal_initializer(0, sigma),
                                             .projection_init = normal_initializer(0, residual)});
  });
  LayerPtr head = options.tied ? nullptr : dense(options.vocab, {.bias = false, .init = normal_initializer(0, sigma)});
  return token_decoder({.model = "gpt",
                        .seq = options.seq,
                        .vocab = options.vocab,
                        .hidden = options.hidden,
                        .dropout = options.dropout,
                        .positions = options.positions},
                       std::move(blocks), layer_norm({.epsilon = options.epsilon}), std::move(head));
}

}  // namespace

ZooModel make_gpt(ModelSizes& options) {
  const GptOptions base = options.published(published_gpts(), {4, 128, 4, 128, 256});
  const GptOptions sizes{.layers = options.integer("layers", base.layers, 1, kMaxLayers),
                         .hidden = options.integer("hidden", base.hidden, 1, 1 << 20),
                         .heads = options.integer("heads", base.heads, 1, 1 << 16),
                         .seq = options.integer("seq", base.seq, 1, 1 << 20),
                         .vocab = options.integer("vocab", base.vocab, 2, 1 << 24),
                         .dropout = options.number("dropout", 0, 0, 0.99),
                         .inner = options.integer("inner", 0, 0, 1 << 22),
                         .positions = options.integer("positions", 0, 0, 1 << 20),
                         .epsilon = options.number("epsilon", 1e-5, 0, 1),
                         .gelu_tanh = options.flag("gelu_tanh", false),
                         .key_bias = options.flag("key_bias", false),
                         .tied = options.flag("tied", true)};
  require_length("gpt", sizes.seq, sizes.positions);
  return {"gpt", gpt(sizes), text_format(sizes.seq, sizes.vocab), nullptr, token_recipe(1, 0.1)};
}

}  // namespace partita
