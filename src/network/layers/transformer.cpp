#include "network/layers/transformer.h"

#include "network/functions.h"
#include "network/layers/dropout.h"
#include "network/layers/norm.h"
#include "ops/attention/attention.h"
#include "ops/elementwise/attrs.h"

namespace partita {
namespace {

/// fc, gelu, proj, dropout.
class FeedForward : public Layer {
 public:
  explicit FeedForward(const TransformerBlockOptions& options, CallLocation where) : Layer(where), options_(options) {}

  Value construct(Context& context, Value x) override {
    const int64_t width = x.shape().back(), inner = options_.inner > 0 ? options_.inner : 4 * width;
    if (!fc_) {
      fc_ = dense(inner, {.init = options_.init});
      projection_ = dense(width, {.init = options_.projection_init});
      dropout_ = options_.dropout > 0 ? dropout(options_.dropout) : nullptr;
    }
    Value y = context.call("fc", *fc_, x);
    y = context.builder().apply("gelu", {y}, GeluAttrs{.approximate = options_.approximate_gelu});
    y = context.call("proj", *projection_, y);
    return dropout_ ? context.call("dropout", *dropout_, y) : y;
  }

 private:
  TransformerBlockOptions options_;
  LayerPtr fc_, projection_, dropout_;
};

}  // namespace

Value MultiHeadAttention::construct(Context& context, Value x) {
  if (x.type().rank() != 3 || x.shape()[2] % std::max<int64_t>(1, heads_) != 0 || heads_ < 1) {
    throw InvalidArgument(
        fmt::format("[attention] heads do not divide the width, got {} heads of {}, expected a "
                    "divisor of the last of three dimensions",
                    heads_, print(x.type())));
  }
  const int64_t width = x.shape()[2], kv_heads = options_.kv_heads > 0 ? options_.kv_heads : heads_;
  if (heads_ % kv_heads != 0) {
    throw InvalidArgument(
        fmt::format("[attention] heads of keys and values do not divide those of queries, got {} of {}, expected a "
                    "divisor of {}",
                    kv_heads, heads_, heads_));
  }
  const auto project = [&](const char* name, Value value, int64_t units, const InitRule& init, bool bias) {
    LayerPtr& child = children_[name];
    if (!child) child = dense(units, {.bias = bias, .init = init});
    return context.call(name, *child, value);
  };
  const int64_t kv_width = width / heads_ * kv_heads;
  Value q = project("q", x, width, options_.init, options_.bias);
  Value k = project("k", x, kv_width, options_.init, /*bias=*/false);
  const Value v = project("v", x, kv_width, options_.init, options_.bias);
  if (options_.rotary_base > 0) {
    q = rotary(q, options_.rotary_base, /*begin=*/0, heads_);
    k = rotary(k, options_.rotary_base, /*begin=*/0, kv_heads);
  }
  const AttentionAttrs attrs{.heads = heads_, .causal = options_.causal, .kv_heads = options_.kv_heads};
  const Value mixed = context.builder().apply_all("attention", {q, k, v}, attrs)[0];
  const Value y = project("proj", mixed, width, options_.projection_init, options_.bias);
  if (options_.dropout == 0) return y;
  LayerPtr& child = children_["dropout"];
  if (!child) child = dropout(options_.dropout);
  return context.call("dropout", *child, y);
}

Value Swiglu::construct(Context& context, Value x) {
  if (!gate_) {
    const int64_t width = x.shape().back(), inner = options_.inner > 0 ? options_.inner : 4 * width;
    gate_ = dense(inner, {.bias = false, .init = options_.init});
    up_ = dense(inner, {.bias = false, .init = options_.init});
    projection_ = dense(width, {.bias = false, .init = options_.projection_init});
  }
  const Value gate = silu(context.call("gate", *gate_, x));
  return context.call("proj", *projection_, gate * context.call("up", *up_, x));
}

TransformerBlock::TransformerBlock(int64_t heads, TransformerBlockOptions options, CallLocation where)
    : Layer(where),
      norm_first_(options.norm_first),
      norm1_(layer_norm({}, where)),
      attention_(multi_head_attention(heads,
                                      {.causal = options.causal,
                                       .dropout = options.dropout,
                                       .init = options.init,
                                       .projection_init = options.projection_init},
                                      where)),
      norm2_(layer_norm({}, where)),
      mlp_(std::make_shared<FeedForward>(options, where)) {}

Value TransformerBlock::construct(Context& context, Value x) {
  if (!norm_first_) {
    x = context.call("ln_1", *norm1_, x + context.call("attn", *attention_, x));
    return context.call("ln_2", *norm2_, x + context.call("mlp", *mlp_, x));
  }
  x = x + context.call("attn", *attention_, context.call("ln_1", *norm1_, x));
  return x + context.call("mlp", *mlp_, context.call("ln_2", *norm2_, x));
}

}  // namespace partita
