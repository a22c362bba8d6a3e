#pragma once

#include <optional>

#include "frontend/network/layers/dense.h"

namespace partita {

/// How rotary positions reach texts longer than those of the training (`partita ops rotary`).
struct RotaryScaling {
  double factor = 1;  // divides the frequencies
  double low = 1, high = 4;
  int64_t trained = 0;  // length of the texts of the training; 0 = all frequencies are divided
};

struct AttentionOptions {
  bool causal = false;
  int64_t kv_heads = 0;    // heads of k and v, each shared by a group of heads of q; 0 = one per head of q
  int64_t head_width = 0;  // 0 = the width of x divided by the heads
  double scale = 0;        // factor of the scores; 0 = 1 / sqrt(width of a head)
  bool bias = true;        // biases of q, v and proj
  double rotary_base = 0;  // above 0: q and k are rotated by their positions
  RotaryScaling rotary_scaling = {};
  double dropout = 0;  // rate after the projection
  InitRule init = Init::xavier_uniform;
  InitRule projection_init = Init::xavier_uniform;
  bool key_bias = false;                     // a bias of k, too; it is trained if positions are rotary
  std::optional<bool> projection_bias = {};  // none: as `bias`
  double head_norm = 0;                      // above 0: each head of q and k is normalized, with this epsilon
};

/// Attention of x[b, s, width] to itself with `heads` heads (Vaswani et al., 2017), or of x to the rows of a second
/// input [b, t, any width]. The children q, k, v and proj have weights [width, width], or k and v fewer rows. A third
/// input [heads, s, t] is added to the scores; it also decides which keys are seen, so `causal` and `kv_heads` cannot
/// be used with it. By default k has no bias: without rotary positions it would shift all scores of a query equally,
/// which softmax ignores, and an optimizer that divides by the gradient's size would turn the rounding errors of its
/// zero gradient into steps. With `head_norm`, q_norm and k_norm are RMS norms of each head before the rotation.
/// Where the context has places of tokens, causal attention obeys them, and keeps keys and values in the caches "keys"
/// and "values" if it is to.
/// `construct_all` throws InvalidArgument for no input or more than three, if x does not have three dimensions, the
/// heads do not divide the width (with `head_width` 0), those of k and v do not divide the heads, or a third input
/// comes with `causal` or `kv_heads`, and for places of tokens without `causal`, with a second input or with a third.
class MultiHeadAttention : public Layer {
 public:
  explicit MultiHeadAttention(int64_t heads, AttentionOptions options = {},
                              CallLocation where = CallLocation::current())
      : Layer(where), heads_(heads), options_(std::move(options)) {}
  std::vector<Value> construct_all(Context& context, const std::vector<Value>& inputs) override;

 private:
  void check(const std::vector<Value>& inputs) const;
  /// Return attention by heads, [b, s, (h d)], from q[b, s, (h d)] and k, v[b, t, (h d)]: the first as one op, where k
  /// and v may have fewer heads, the second from elementary ops, with `bias`[h, s, t] added to the scores. Throw
  /// InvalidArgument for shapes that do not fit.
  Value mixed(Context& context, Value q, Value k, Value v) const;
  Value mixed(Value q, Value k, Value v, Value bias) const;
  /// Returns x[b, s, (h d)] with each of the `heads` heads normalized and rotated, where the options say so.
  Value placed(Context& context, const char* norm, Value x, int64_t heads);

  int64_t heads_;
  AttentionOptions options_;
  std::map<std::string, LayerPtr> children_;
};

struct RelativeBiasOptions {
  bool causal = false;  // keys after a query get a bias that hides them
  int64_t buckets = 32, furthest = 128;
  InitRule init = Init::xavier_uniform;
};

/// A bias for the scores of attention, [heads, s, s] for x[b, s, ..] (Raffel et al., 2020). It is a number per bucket
/// of distances (`partita ops relative_buckets`) and head: weight[buckets, heads].
class RelativeBias : public Layer {
 public:
  explicit RelativeBias(int64_t heads, RelativeBiasOptions options = {}, CallLocation where = CallLocation::current())
      : Layer(where), heads_(heads), options_(std::move(options)) {}
  Value construct(Context& context, Value x) override;

 private:
  int64_t heads_;
  RelativeBiasOptions options_;
};

struct SwigluOptions {
  int64_t inner = 0;  // width inside; 0 = four times that of x
  InitRule init = Init::xavier_uniform;
  InitRule projection_init = Init::xavier_uniform;
};

/// proj(silu(gate(x)) * up(x)) for x[.., width] (Shazeer, 2020, "GLU variants improve transformer"). The children gate
/// and up [inner, width] and proj [width, inner] have no biases.
class Swiglu : public Layer {
 public:
  explicit Swiglu(SwigluOptions options = {}, CallLocation where = CallLocation::current())
      : Layer(where), options_(std::move(options)) {}
  Value construct(Context& context, Value x) override;

 private:
  SwigluOptions options_;
  LayerPtr gate_, up_, projection_;
};

struct TransformerBlockOptions {
  int64_t inner = 0;      // width inside the feed-forward part; 0 = four times that of x
  double epsilon = 1e-5;  // added to variances by the norms
  bool key_bias = false;  // keys have a bias, too
  bool causal = false;
  bool approximate_gelu = false;
  bool norm_first = true;  // whether to normalize before each part; false: after the sum
  double dropout = 0;
  InitRule init = Init::xavier_uniform;
  InitRule projection_init = Init::xavier_uniform;  // for the layers that end on the residual path
};

/// The pre-norm block of GPT-2: x += attn(ln_1(x)); x += mlp(ln_2(x)). Its children are ln_1, attn, ln_2, mlp.fc and
/// mlp.proj. Without `norm_first` the block of Vaswani et al.: x = ln_1(x + attn(x)); x = ln_2(x + mlp(x)).
class TransformerBlock : public Layer {
 public:
  explicit TransformerBlock(int64_t heads, TransformerBlockOptions options = {},
                            CallLocation where = CallLocation::current());
  Value construct(Context& context, Value x) override;

 private:
  bool norm_first_;
  LayerPtr norm1_, attention_, norm2_, mlp_;
};

inline LayerPtr multi_head_attention(int64_t heads, AttentionOptions options = {},
                                     CallLocation where = CallLocation::current()) {
  return std::make_shared<MultiHeadAttention>(heads, std::move(options), where);
}
inline LayerPtr relative_bias(int64_t heads, RelativeBiasOptions options = {},
                              CallLocation where = CallLocation::current()) {
  return std::make_shared<RelativeBias>(heads, std::move(options), where);
}
inline LayerPtr swiglu(SwigluOptions options = {}, CallLocation where = CallLocation::current()) {
  return std::make_shared<Swiglu>(std::move(options), where);
}
inline LayerPtr transformer_block(int64_t heads, TransformerBlockOptions options = {},
                                  CallLocation where = CallLocation::current()) {
  return std::make_shared<TransformerBlock>(heads, std::move(options), where);
}

}  // namespace partita
