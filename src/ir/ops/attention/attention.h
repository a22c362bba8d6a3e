#pragma once
// Attributes of the ops of this folder, and helpers that attention and its gradient share.

#include "ir/ops/formula_gradient.h"
#include "ir/ops/kernels.h"
#include "ir/ops/wide.h"

namespace partita {

/// `begin` is the position of the first query relative to the first key, negative if the keys come later; if `causal`,
/// a query sees keys up to its own position. `kv_heads` is the number of heads of k and v, each of which serves a group
/// of consecutive heads of q (Ainslie et al., 2023, "GQA"); 0 = `heads`.
struct AttentionAttrs {
  int64_t heads = 1;
  bool causal = false;
  double scale = 0;  // factor of the scores; 0 = 1 / sqrt(width of a head of q)
  int64_t begin = 0;
  int64_t kv_heads = 0;
  static constexpr auto fields() {
    using A = AttentionAttrs;
    return std::tuple{field("heads", &A::heads), field("causal", &A::causal), field("scale", &A::scale),
                      field("begin", &A::begin), field("kv_heads", &A::kv_heads)};
  }
};

/// `begin` is the position of the first element of dimension s. `inverse` rotates back. Each of the `heads` of the last
/// dimension is rotated separately. `factor` divides the frequencies, so that longer texts than those of the training
/// fit its angles (Chen et al., 2023, "Extending context window of large language models via positional
/// interpolation"). With `trained`, the length of those texts, waves that turn at least `high` times within it keep
/// their frequencies, those that turn at most `low` times are divided, and those between are mixed (Llama 3.1).
struct RotaryAttrs {
  double base = 10000;
  int64_t begin = 0;
  bool inverse = false;
  int64_t heads = 1;
  double factor = 1;
  double low = 1, high = 4;
  int64_t trained = 0;
  static constexpr auto fields() {
    using A = RotaryAttrs;
    return std::tuple{field("base", &A::base),   field("begin", &A::begin),    field("inverse", &A::inverse),
                      field("heads", &A::heads), field("factor", &A::factor),  field("low", &A::low),
                      field("high", &A::high),   field("trained", &A::trained)};
  }
};

/// `begin` is the position of the first query relative to the first key. With `both_sides`, half of the buckets, an
/// even number, are for keys after the query and half for keys before it; otherwise keys after the query are in bucket
/// 0. Half of the buckets of a side hold one distance each. The others grow logarithmically up to `furthest`; the last
/// one also holds everything beyond.
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

/// Offsets of one head of a batch row in q, k, v, y and lse, in elements.
struct AttentionHead {
  int64_t q, k, v, y, lse;
};

/// Sizes of q[b, q, (heads width)], k[b, k, (kv_heads width)] and v[b, k, (kv_heads value_width)].
struct AttentionSizes {
  int64_t batch = 0, heads = 1, kv_heads = 1, queries = 0, keys = 0, width = 0, value_width = 0;

  /// Elements of one row of q, k, v and y.
  int64_t q_row() const { return heads * width; }
  int64_t k_row() const { return kv_heads * width; }
  int64_t v_row() const { return kv_heads * value_width; }
  int64_t y_row() const { return heads * value_width; }
  /// Number of heads of q per head of k and v.
  int64_t group() const { return heads / std::max<int64_t>(1, kv_heads); }
  /// Returns the offsets of pair `batch row * heads + head of q`.
  AttentionHead head(int64_t pair) const;

  /// Returns how many keys, from the first on, the local query `i` sees by the attributes.
  int64_t seen(const AttentionAttrs& attrs, int64_t i) const {
    return attrs.causal ? std::clamp<int64_t>(attrs.begin + i + 1, 0, keys) : keys;
  }
  /// Returns the factor of the scores: that of the attributes, or 1 / sqrt(width) if that is 0.
  double scale(const AttentionAttrs& attrs) const;
};
/// Returns the sizes of a call that passed `require_attention`.
AttentionSizes attention_sizes(const AttentionAttrs& attrs, const Type& q, const Type& k, const Type& v);

/// Keys from `begin` to before `end`.
struct KeyRange {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

/// The keys that each query sees: those that the attributes say, or, with `first` and `last`[b, q], the keys from the
/// one to the other, both included. A query whose last key is before its first, or whose keys do not exist, sees none.
class SeenKeys {
 public:
  SeenKeys(const AttentionAttrs& attrs, const AttentionSizes& sizes, const int32_t* first = nullptr,
           const int32_t* last = nullptr)
      : attrs_(attrs), sizes_(sizes), first_(first), last_(last) {}

  KeyRange of(int64_t batch_row, int64_t query) const {
    if (first_ == nullptr) return {0, sizes_.seen(attrs_, query)};
    const int64_t at = batch_row * sizes_.queries + query;
    const int64_t end = std::clamp<int64_t>(int64_t{last_[at]} + 1, 0, sizes_.keys);
    return {std::clamp<int64_t>(first_[at], 0, end), end};
  }

 private:
  AttentionAttrs attrs_;
  AttentionSizes sizes_;
  const int32_t *first_, *last_;
};

/// Returns an op of attention with `operands` operands, which begin with q and k.
OpDef attention_part(const char* name, const char* summary, size_t operands);
/// Checks that q and k, operands 0 and 1, and v fit each other and the attributes. Throws InvalidArgument otherwise.
void require_attention(std::string_view op, const OpCall& call, const Type& v);
/// Return the types of the results of attention and of its gradient. Throw InvalidArgument, in the name of `op`, for
/// operands that do not fit each other or the attributes.
std::vector<Type> attention_types(std::string_view op, const OpCall& call);
std::vector<Type> attention_grad_types(std::string_view op, const OpCall& call);
/// Returns the type of lse[b, heads, q]: the logarithm of the sum of the exponentials of each query's scores.
Type lse_type(const AttentionSizes& sizes, DType dtype);
/// Returns the rule of an op on q, k and v from its shorthand `text`, with h heads of k and v and g heads of q for
/// each, and additional `modifiers`.
ShardingRule attention_rule(const std::string& text, const std::string& modifiers, const OpCall& call);
/// Returns the attributes on a shard: its numbers of heads and, if causal, its `begin`. For ops with q and k as
/// operands 0 and 1. The heads are dimension 1 of operand 4 if there is one (the gradient), else of the last result.
Attrs localize_attention(const Attrs& given, const Shard& shard);
/// Write attention and its gradient as StableHLO.
std::vector<Hlo> emit_attention(const EmitCall& call);
std::vector<Hlo> emit_attention_grad(const EmitCall& call);
/// Write attention with the ranges of keys that queries see, and its gradient, as StableHLO.
std::vector<Hlo> emit_attention_within(const EmitCall& call);
std::vector<Hlo> emit_attention_within_grad(const EmitCall& call);
/// Say how cuDNN computes attention and its gradient: in one kernel each, without the scores in memory.
CudnnCall cudnn_attention();
CudnnCall cudnn_attention_grad();
/// Write the parts of attention whose keys are cut.
std::vector<Hlo> emit_attention_max(const EmitCall& call);
std::vector<Hlo> emit_attention_sums(const EmitCall& call);
std::vector<Hlo> emit_attention_finish(const EmitCall& call);
/// Build attention_grad and attention_within_grad from ops that have gradients.
std::vector<Value> attention_grad_formula(const ExpandCall& call);
std::vector<Value> attention_within_grad_formula(const ExpandCall& call);
/// Returns the gradients of q and k through lse, result 1 of attention or attention_within, whose gradient has arrived.
std::pair<Value, Value> gradients_of_lse(const GradCall& call);
/// Builds attention from ops that allow its keys to be cut. Returns y and lse, the results of attention.
std::vector<Value> expand_attention(const ExpandCall& call);

}  // namespace partita
