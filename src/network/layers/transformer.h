#pragma once

#include "network/layers/dense.h"

namespace partita {

struct AttentionOptions {
  bool causal = false;
  double dropout = 0;  // of what the projection gives
  InitRule init = Init::xavier_uniform;
  InitRule projection_init = Init::xavier_uniform;
};

/// Attention of x[b, s, width] to itself with `heads` heads (Vaswani et al., 2017): children q, k, v and proj,
/// each [width, width]. k has no bias: it would move all scores of a query alike, which softmax does not see, and
/// an optimizer that divides by the gradient's size would turn the rounding of its zero gradient into steps. Throws
/// when the heads do not divide the width.
class MultiHeadAttention : public Layer {
 public:
  explicit MultiHeadAttention(int64_t heads, AttentionOptions options = {},
                              CallLocation where = CallLocation::current())
      : Layer(where), heads_(heads), options_(std::move(options)) {}
  Value construct(Context& context, Value x) override;

 private:
  int64_t heads_;
  AttentionOptions options_;
  std::map<std::string, LayerPtr> children_;
};

struct TransformerBlockOptions {
  int64_t inner = 0;  // width inside the feed-forward part; 0: four times that of x
  bool causal = false;
  bool approximate_gelu = false;
  double dropout = 0;
  InitRule init = Init::xavier_uniform;
  InitRule projection_init = Init::xavier_uniform;  // of the layers that end on the residual path
};

/// x += attn(ln_1(x)); x += mlp(ln_2(x)): the pre-norm block of GPT-2, children ln_1, attn, ln_2, mlp.fc, mlp.proj.
class TransformerBlock : public Layer {
 public:
  explicit TransformerBlock(int64_t heads, TransformerBlockOptions options = {},
                            CallLocation where = CallLocation::current());
  Value construct(Context& context, Value x) override;

 private:
  LayerPtr norm1_, attention_, norm2_, mlp_;
};

inline LayerPtr multi_head_attention(int64_t heads, AttentionOptions options = {},
                                     CallLocation where = CallLocation::current()) {
  return std::make_shared<MultiHeadAttention>(heads, std::move(options), where);
}
inline LayerPtr transformer_block(int64_t heads, TransformerBlockOptions options = {},
                                  CallLocation where = CallLocation::current()) {
  return std::make_shared<TransformerBlock>(heads, std::move(options), where);
}

}  // namespace partita
