#include "zoo/token_model.h"

#include "frontend/network/functions.h"
#include "ir/ops/shape/attrs.h"

namespace partita {
namespace {

class TokenDecoder : public Layer {
 public:
  TokenDecoder(const TokenSizes& sizes, LayerPtr blocks, LayerPtr norm, LayerPtr head)
      : sizes_(sizes),
        dropout_(sizes.dropout > 0 ? dropout(sizes.dropout) : nullptr),
        blocks_(std::move(blocks)),
        norm_(std::move(norm)),
        head_(std::move(head)) {}

  Value construct(Context& context, Value tokens) override {
    const int64_t seq = tokens.type().rank() == 2 ? tokens.shape()[1] : 0;
    const bool is_part = context.places() && context.places()->cache > 0;  // a part of longer texts
    if (is_part ? seq < 1 : seq != sizes_.seq) {
      throw InvalidArgument("[{}] wrong tokens, got {}, expected [batch,{}]", sizes_.model, print(tokens.type()),
                            sizes_.seq);
    }
    const Initializer init = normal_initializer(0, 0.02);
    const Value table = context.parameter("wte.weight", {sizes_.vocab, sizes_.hidden}, init);
    Value positions;
    if (sizes_.has_positions) {
      positions = position_rows(context, "wpe.weight", sizes_.positions, {sizes_.seq, sizes_.hidden}, init);
      if (context.places()) positions = apply("embedding", {positions, context.places()->positions});
    }
    Value x = apply("embedding", {table, tokens});
    if (positions) x = x + positions;
    if (dropout_) x = context.call("drop", *dropout_, x);
    x = context.call("ln_f", *norm_, context.call("h", *blocks_, x));
    if (head_) return context.call("head", *head_, x);
    return matmul(x, table, /*transpose_a=*/false, /*transpose_b=*/true);
  }

 private:
  TokenSizes sizes_;
  LayerPtr dropout_, blocks_, norm_, head_;
};

}  // namespace

void require_length(const std::string& model, int64_t seq, int64_t longest) {
  if (longest == 0 || seq <= longest) return;
  throw InvalidArgument("[{}] rows are longer than the model takes, got seq={}, expected at most {}", model, seq,
                        longest);
}

Value position_rows(Context& context, const std::string& name, int64_t positions, const Shape& used,
                    const Initializer& init) {
  const int64_t rows = std::max(positions, used[0]);
  const Value table = context.parameter(name, {rows, used[1]}, init);
  return rows == used[0] ? table : apply("slice", {table}, SliceAttrs{.begin = {0, 0}, .end = used});
}

LayerPtr token_decoder(const TokenSizes& sizes, LayerPtr blocks, LayerPtr norm, LayerPtr head) {
  return share(TokenDecoder(sizes, std::move(blocks), std::move(norm), std::move(head)));
}

LayerPtr repeated(int64_t count, const std::function<LayerPtr(int64_t)>& block) {
  std::vector<LayerPtr> blocks;
  for (int64_t i = 0; i < count; ++i) blocks.push_back(block(i));
  return sequential(std::move(blocks));
}

JobConfig token_recipe(int64_t epochs, double weight_decay) {
  return {.training = {.batch = 32, .epochs = epochs},
          .optimizer = {.kind = OptimizerKind::adamw,
                        .weight_decay = weight_decay,
                        .decay_vectors = false,
                        .beta1 = 0.9,
                        .beta2 = 0.99,
                        .clip_norm = 1},
          .schedule = {.kind = LrKind::cosine, .learning_rate = 1e-3, .warmup_steps = 100}};
}

}  // namespace partita
