#pragma once
// Attributes of the ops of this folder, and what attention and its gradient share.

#include "ir/ops/support.h"
#include "ir/ops/wide.h"

namespace partita {

/// `begin`: the position of the first query, counted from the first key, below 0 for keys behind it; a query sees keys
/// up to its own position when `causal`. `kv_heads`: of k and v, each for as many heads of q in a row (Ainslie et al.,
/// 2023, "GQA"); 0: `heads`.
struct AttentionAttrs {
  int64_t heads = 1;
  bool causal = false;
  double scale = 0;  // of the scores; 0: 1 / sqrt(width of a head of q)
  int64_t begin = 0;
  int64_t kv_heads = 0;
  static constexpr auto fields() {
    using A = AttentionAttrs;
    return std::tuple{field("heads", &A::heads), field("causal", &A::causal), field("scale", &A::scale),
                      field("begin", &A::begin), field("kv_heads", &A::kv_heads)};
  }
};

/// `begin`: the position of the first element of dimension s; `inverse`: rotates back; `heads`: of the last dimension,
/// each rotated by itself.
struct RotaryAttrs {
  double base = 10000;
  int64_t begin = 0;
  bool inverse = false;
  int64_t heads = 1;
  static constexpr auto fields() {
    return std::tuple{field("base", &RotaryAttrs::base), field("begin", &RotaryAttrs::begin),
                      field("inverse", &RotaryAttrs::inverse), field("heads", &RotaryAttrs::heads)};
  }
};

/// `begin`: the position of the first query, counted from the first key. Of `both_sides` half of the buckets, an even
/// number, are of keys behind the query and half of keys before it; else keys that follow the query are in bucket 0.
/// Half of the buckets of a side are of one distance each, the others reach up to `furthest`, the last of them further.
struct RelativeBucketsAttrs {
  int64_t queries = 1, keys = 1;
  int64_t buckets = 32;
  int64_t furthest = 128;
  bool both_sides = false;
  int64_t begin = 0;
  static constexpr auto fields() {
    using A = RelativeBucketsAttrs;
    return std::tuple{field("queries", &A::queries),       field("keys", &A::keys),
                      field("buckets", &A::buckets),       field("furthest", &A::furthest),
                      field("both_sides", &A::both_sides), field("begin", &A::begin)};
  }
};

/// Where one head of a batch row begins, in q, k, v, y and lse.
struct AttentionHead {
  int64_t q, k, v, y, lse;
};

/// q[b, q, (heads width)], k[b, k, (kv_heads width)], v[b, k, (kv_heads value_width)].
struct AttentionSizes {
  int64_t batch = 0, heads = 1, kv_heads = 1, queries = 0, keys = 0, width = 0, value_width = 0;

  /// Elements of one row of q, k, v and y.
  int64_t q_row() const { return heads * width; }
  int64_t k_row() const { return kv_heads * width; }
  int64_t v_row() const { return kv_heads * value_width; }
  int64_t y_row() const { return heads * value_width; }
  /// Heads of q for one of k and v.
  int64_t group() const { return heads / std::max<int64_t>(1, kv_heads); }
  /// Of pair `batch row * heads + head of q`.
  AttentionHead head(int64_t pair) const;

  /// Keys that query `i` of the local ones sees.
  int64_t seen(const AttentionAttrs& attrs, int64_t i) const {
    return attrs.causal ? std::clamp<int64_t>(attrs.begin + i + 1, 0, keys) : keys;
  }
  double scale(const AttentionAttrs& attrs) const;
};
AttentionSizes attention_sizes(const AttentionAttrs& attrs, const Type& q, const Type& k, const Type& v);

/// Throws unless q and k, the first operands, and v fit each other and the attributes.
void require_attention(std::string_view op, const OpCall& call, const Type& v);
/// The type of lse: the logarithm of the sum of the exponentials of each query's scores.
Type lse_type(const AttentionSizes& sizes, DType dtype);
/// The rule of an op on q, k and v from its text, h heads of k and v for g of q each, and more marks.
ShardingRule attention_rule(const std::string& text, const std::string& marks, const OpCall& call);
/// Of ops with q and k as operands 0 and 1 and lse, or what has its type, as the last result or, of the gradient, as
/// operand 4.
Attrs localize_attention(const Attrs& given, const Shard& shard);
/// Attention by the ops that its keys may be cut in.
std::vector<Value> expand_attention(const ExpandCall& call);

}  // namespace partita
