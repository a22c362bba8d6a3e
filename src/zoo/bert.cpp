// A bidirectional encoder that is trained to restore masked tokens (Devlin et al., 2018, "BERT: pre-training of deep
// bidirectional transformers for language understanding"). Rows have one segment.

#include "frontend/network/functions.h"
#include "zoo/token_model.h"

namespace partita {
namespace {

struct BertOptions {
  int64_t layers, hidden, heads, seq, vocab;
  double dropout = 0;
  int64_t masked = 0;  // positions per row; 0: 15 %
  int64_t inner = 0, positions = 0;
  int64_t segments = 0;  // rows of the embedding of segments, of which the first is added to all tokens
  int64_t mask = 0;      // the token that stands for a masked one
  double epsilon = 1e-5;
  bool key_bias = false;
};

const std::vector<std::pair<std::string, BertOptions>>& published_berts() {
  static const std::vector<std::pair<std::string, BertOptions>> list{{"base", {12, 768, 12, 512, 30522, 0.1}},
                                                                     {"large", {24, 1024, 16, 512, 30522, 0.1}}};
  return list;
}

/// Maps tokens [b, s] and positions [b, k] to the logits of the tokens at these positions, [b, k, vocab]. The token
/// embedding is also the output layer. Throws InvalidArgument for rows of other sizes.
class Bert : public Layer {
 public:
  explicit Bert(const BertOptions& options)
      : options_(options),
        embedding_norm_(layer_norm({.epsilon = options.epsilon})),
        dropout_(options.dropout > 0 ? dropout(options.dropout) : nullptr),
        head_(dense(options.hidden, {.init = normal_initializer(0, kSigma)})),
        head_norm_(layer_norm({.epsilon = options.epsilon})),
        blocks_(repeated(options.layers, [&](int64_t) {
          return transformer_block(options.heads, {.inner = options.inner,
                                                   .epsilon = options.epsilon,
                                                   .key_bias = options.key_bias,
                                                   .norm_first = false,
                                                   .dropout = options.dropout,
                                                   .init = normal_initializer(0, kSigma),
                                                   .projection_init = normal_initializer(0, kSigma)});
        })) {}

  std::vector<Value> construct_all(Context& context, const std::vector<Value>& inputs) override {
    const Value tokens = inputs.at(0), positions = inputs.at(1);
    const int64_t seq = tokens.type().rank() == 2 ? tokens.shape()[1] : 0;
    if (seq != options_.seq || positions.type().rank() != 2) {
      throw InvalidArgument("[bert] wrong rows, got tokens {} and positions {}, expected [batch,{}] and [batch,masked]",
                            print(tokens.type()), print(positions.type()), options_.seq);
    }
    const Initializer init = normal_initializer(0, kSigma);
    const Value table = context.parameter("wte.weight", {options_.vocab, options_.hidden}, init);
    Value places = position_rows(context, "wpe.weight", options_.positions, {options_.seq, options_.hidden}, init);
    if (options_.segments > 0) {
      places = places + position_rows(context, "wse.weight", options_.segments, {1, options_.hidden}, init);
    }
    Value x = context.call("ln_e", *embedding_norm_, apply("embedding", {table, tokens}) + places);
    if (dropout_) x = context.call("drop", *dropout_, x);
    x = context.call("h", *blocks_, x);
    const Shape rows = positions.shape();
    x = apply("combine", {x, reshape(positions, {rows[0], rows[1], 1})});  // selects the rows at the positions
    x = context.call("ln_f", *head_norm_, gelu(context.call("head", *head_, x)));
    const Value bias = context.parameter("bias", {options_.vocab}, initializer(Init::zeros, {options_.vocab}));
    return {matmul(x, table, /*transpose_a=*/false, /*transpose_b=*/true) + bias};
  }

 private:
  static constexpr double kSigma = 0.02;

  BertOptions options_;
  LayerPtr embedding_norm_, dropout_, head_, head_norm_, blocks_;
};

}  // namespace

ZooModel make_bert(ModelSizes& options) {
  const BertOptions base = options.published(published_berts(), {2, 128, 4, 32, 257, 0, 8});
  const int64_t seq = options.integer("seq", base.seq, 1, 1 << 20);
  const int64_t usual_masked = base.masked > 0 ? std::min(base.masked, seq) : std::max<int64_t>(1, 15 * seq / 100);
  const BertOptions sizes{.layers = options.integer("layers", base.layers, 1, kMaxLayers),
                          .hidden = options.integer("hidden", base.hidden, 1, 1 << 20),
                          .heads = options.integer("heads", base.heads, 1, 1 << 16),
                          .seq = seq,
                          .vocab = options.integer("vocab", base.vocab, 2, 1 << 24),
                          .dropout = options.number("dropout", base.dropout, 0, 0.99),
                          .masked = options.integer("masked", usual_masked, 1, seq),
                          .inner = options.integer("inner", 0, 0, 1 << 22),
                          .positions = options.integer("positions", 0, 0, 1 << 20),
                          .segments = options.integer("segments", 0, 0, 1 << 16),
                          .mask = options.integer("mask", -1, -1, 1 << 24),
                          .epsilon = options.number("epsilon", 1e-5, 0, 1),
                          .key_bias = options.flag("key_bias", false)};
  require_length("bert", sizes.seq, sizes.positions);
  if (sizes.mask >= sizes.vocab) {
    throw InvalidArgument("[bert] the mask is no token, got {} of {}, expected 0 to {}, or -1 for the last", sizes.mask,
                          sizes.vocab, sizes.vocab - 1);
  }
  RowFormat rows = text_format(sizes.seq, sizes.vocab);
  rows.text = {.tokens = sizes.seq,
               .task = TextTask::masked,
               .targets = sizes.masked,
               .mask = sizes.mask < 0 ? sizes.vocab - 1 : sizes.mask};
  return {"bert", share(Bert(sizes)), std::move(rows), nullptr, token_recipe(8, 0.01), {"tokens", "positions"}};
}

}  // namespace partita
