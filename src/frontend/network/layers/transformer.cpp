#include "frontend/network/layers/transformer.h"

#include <cmath>

#include "frontend/network/functions.h"
#include "frontend/network/layers/dropout.h"
#include "frontend/network/layers/norm.h"
#include "ir/ops/attention/attention.h"
#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"

namespace partita {
namespace {

/// The feed-forward part: fc, gelu, proj, dropout.
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

void MultiHeadAttention::check(const std::vector<Value>& inputs) const {
  if (inputs.empty() || inputs.size() > 3) {
    throw InvalidArgument("[attention] wrong number of inputs, got {}, expected x, what it attends to, and a bias",
                          inputs.size());
  }
  const Type& x = inputs[0].type();
  const bool divides = options_.head_width > 0 || (heads_ >= 1 && x.rank() == 3 && x.shape[2] % heads_ == 0);
  if (heads_ < 1 || x.rank() != 3 || !divides) {
    throw InvalidArgument(
        "[attention] heads do not divide the width, got {} heads of {}, expected a divisor of the last of three "
        "dimensions",
        heads_, print(x));
  }
  const int64_t kv_heads = options_.kv_heads > 0 ? options_.kv_heads : heads_;
  if (heads_ % kv_heads != 0) {
    throw InvalidArgument(
        "[attention] heads of keys and values do not divide those of queries, got {} of {}, expected a divisor of {}",
        kv_heads, heads_, heads_);
  }
  if (inputs.size() == 3 && (options_.causal || kv_heads != heads_)) {
    throw InvalidArgument(
        "[attention] a bias cannot be combined with causal masking or fewer heads of keys and values, got causal={} "
        "and {} of {} heads, expected neither",
        options_.causal, kv_heads, heads_);
  }
}

Value MultiHeadAttention::mixed(Context& context, Value q, Value k, Value v) const {
  AttentionAttrs attrs{
      .heads = heads_, .causal = options_.causal, .scale = options_.scale, .kv_heads = options_.kv_heads};
  if (!context.places()) return context.builder().apply_all("attention", {q, k, v}, attrs)[0];
  attrs.causal = false;  // the places say it
  const TokenPlaces& places = *context.places();
  if (places.cache > 0) {
    k = context.cached("keys", k);
    v = context.cached("values", v);
  }
  return context.builder().apply_all("attention_within", {q, k, v, places.first, places.last}, attrs)[0];
}

Value MultiHeadAttention::mixed(Value q, Value k, Value v, Value bias) const {
  const auto by_head = [&](Value rows) {
    const Shape& shape = rows.shape();
    return transpose(reshape(rows, {shape[0], shape[1], heads_, shape[2] / heads_}), {0, 2, 1, 3});
  };
  const Shape rows = q.shape();
  const double scale =
      options_.scale != 0 ? options_.scale : 1 / std::sqrt(static_cast<double>(rows[2]) / static_cast<double>(heads_));
  if (scale != 1) q = q * scale;
  const Value scores = matmul(by_head(q), by_head(k), /*transpose_a=*/false, /*transpose_b=*/true) + bias;
  return reshape(transpose(matmul(softmax(scores), by_head(v)), {0, 2, 1, 3}), rows);
}

Value MultiHeadAttention::placed(Context& context, const char* norm, Value x, int64_t heads) {
  if (options_.head_norm > 0) {
    LayerPtr& child = children_[norm];
    if (!child) child = rms_norm({.epsilon = options_.head_norm});
    const Shape rows = x.shape();
    x = reshape(context.call(norm, *child, reshape(x, {rows[0], rows[1], heads, rows[2] / heads})), rows);
  }
  if (options_.rotary_base == 0) return x;
  const auto& [factor, low, high, trained] = options_.rotary_scaling;
  std::vector<Value> operands{x};
  if (context.places()) operands.push_back(context.places()->positions);
  return apply("rotary", operands,
               RotaryAttrs{.base = options_.rotary_base,
                           .heads = heads,
                           .factor = factor,
                           .low = low,
                           .high = high,
                           .trained = trained});
}

std::vector<Value> MultiHeadAttention::construct_all(Context& context, const std::vector<Value>& inputs) {
  check(inputs);
  if (context.places() && (!options_.causal || inputs.size() > 1)) {
    throw InvalidArgument(
        "[attention] places of tokens are for causal attention of x to itself, got causal={} and {} inputs, expected "
        "true and 1",
        options_.causal, inputs.size());
  }
  const Value x = inputs[0], memory = inputs.size() > 1 ? inputs[1] : x;
  const int64_t width = x.shape()[2], kv_heads = options_.kv_heads > 0 ? options_.kv_heads : heads_;
  const int64_t head_width = options_.head_width > 0 ? options_.head_width : width / heads_;
  const auto project = [&](const char* name, Value value, int64_t units, const InitRule& init, bool bias,
                           bool trains_bias = true) {
    LayerPtr& child = children_[name];
    if (!child) child = dense(units, {.bias = bias, .init = init, .trains_bias = trains_bias});
    return context.call(name, *child, value);
  };
  Value q = project("q", x, heads_ * head_width, options_.init, options_.bias);
  // Without rotations the gradient of a key's bias is 0.
  Value k = project("k", memory, kv_heads * head_width, options_.init, options_.key_bias, options_.rotary_base > 0);
  const Value v = project("v", memory, kv_heads * head_width, options_.init, options_.bias);
  q = placed(context, "q_norm", q, heads_);
  k = placed(context, "k_norm", k, kv_heads);
  const Value heads = inputs.size() == 3 ? mixed(q, k, v, inputs[2]) : mixed(context, q, k, v);
  const bool bias = options_.projection_bias.value_or(options_.bias);
  const Value y = project("proj", heads, width, options_.projection_init, bias);
  if (options_.dropout == 0) return {y};
  LayerPtr& child = children_["dropout"];
  if (!child) child = dropout(options_.dropout);
  return {context.call("dropout", *child, y)};
}

Value RelativeBias::construct(Context& context, Value x) {
  constexpr double kHidden = -1e9;  // below the scores of all visible keys
  if (x.type().rank() < 2) {
    throw InvalidArgument("[relative_bias] no sequence, got {}, expected [batch, sequence, ..]", print(x.type()));
  }
  Builder& builder = context.builder();
  const int64_t seq = x.shape()[1];
  const Shape shape{options_.buckets, heads_};
  const Value table = context.parameter("weight", shape, options_.init.of(shape));
  const RelativeBucketsAttrs attrs{.queries = seq,
                                   .keys = seq,
                                   .buckets = options_.buckets,
                                   .furthest = options_.furthest,
                                   .both_sides = !options_.causal};
  const Value bias = transpose(apply("embedding", {table, builder.apply("relative_buckets", {}, attrs)}), {2, 0, 1});
  if (!options_.causal) return bias;
  const auto positions = [&](int64_t axis) {
    return builder.apply("iota", {}, IotaAttrs{.axis = axis, .dtype = DType::i32, .shape = {seq, seq}});
  };
  return select(less_equal(positions(1), positions(0)), bias, constant(builder, kHidden, {bias.dtype(), {}}));
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
      norm1_(layer_norm({.epsilon = options.epsilon}, where)),
      attention_(multi_head_attention(heads,
                                      {.causal = options.causal,
                                       .dropout = options.dropout,
                                       .init = options.init,
                                       .projection_init = options.projection_init,
                                       .key_bias = options.key_bias},
                                      where)),
      norm2_(layer_norm({.epsilon = options.epsilon}, where)),
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
