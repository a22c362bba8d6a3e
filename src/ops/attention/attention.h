#pragma once
// Attributes of the ops of this folder, and what attention and its gradient share.

#include "ops/support.h"
#include "ops/wide.h"

namespace partita {

/// `begin`: the global position of the first local query; a query sees keys up to its own position
/// when `causal`.
struct AttentionAttrs {
  int64_t heads = 1;
  bool causal = false;
  double scale = 0;  // of the scores; 0: 1 / sqrt(width of a head of q)
  int64_t begin = 0;
  static constexpr auto fields() {
    using A = AttentionAttrs;
    return std::tuple{field("heads", &A::heads), field("causal", &A::causal), field("scale", &A::scale),
                      field("begin", &A::begin)};
  }
};

/// `begin`: the position of the first element of dimension s; `inverse`: rotates back.
struct RotaryAttrs {
  double base = 10000;
  int64_t begin = 0;
  bool inverse = false;
  static constexpr auto fields() {
    return std::tuple{field("base", &RotaryAttrs::base), field("begin", &RotaryAttrs::begin),
                      field("inverse", &RotaryAttrs::inverse)};
  }
};

/// q[b, q, (h d)], k[b, k, (h d)], v[b, k, (h e)].
struct AttentionSizes {
  int64_t batch = 0, heads = 1, queries = 0, keys = 0, width = 0, value_width = 0;

  /// Keys that query `i` of the local ones sees.
  int64_t seen(const AttentionAttrs& attrs, int64_t i) const {
    return attrs.causal ? std::min(keys, attrs.begin + i + 1) : keys;
  }
  double scale(const AttentionAttrs& attrs) const;
};
AttentionSizes attention_sizes(const AttentionAttrs& attrs, const Type& q, const Type& k, const Type& v);

/// Throws unless q, k and v fit each other and the attributes.
void require_attention(std::string_view op, const OpCall& call);
/// The type of lse: the logarithm of the sum of the exponentials of each query's scores.
Type lse_type(const AttentionSizes& sizes, DType dtype);
/// The rule from its text, heads as a factor.
ShardingRule attention_rule(const std::string& text, const OpCall& call);
Attrs localize_attention(const Attrs& given, const Shard& shard);

}  // namespace partita
