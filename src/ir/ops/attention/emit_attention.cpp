// Attention as StableHLO: products over all pairs of positions. Heads are two dimensions, heads of k and v and heads of
// q for each of them, so that no operand is repeated.

#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/ops/attention/attention.h"
#include "ir/ops/emission.h"
#include "ir/ops/full_precision.h"

namespace partita {
namespace {

class AttentionEmitter {
 public:
  /// `ranges`: the operand with the first key that each query sees, which the last keys follow; 0 = none.
  explicit AttentionEmitter(const EmitCall& call, size_t ranges = 0)
      : call_(call),
        ranges_(ranges),
        attrs_(call.attrs.as<AttentionAttrs>()),
        sizes_(attention_sizes(attrs_, call.inputs[0].type, call.inputs[1].type,
                               call.inputs[std::min<size_t>(2, call.inputs.size() - 1)].type)),
        wide_(wide_type(call.inputs[0].type.dtype)),
        pairs_{sizes_.batch, sizes_.kv_heads, sizes_.queries, sizes_.group(), sizes_.keys} {}

  /// Returns y and lse.
  std::vector<Hlo> forward() const {
    const Hlo scores = this->scores();
    const Type row{wide_, {}};
    const Hlo largest = of_blind(call_.reduce(scores, "maximum", call_.splat(-kInfinity, row), {4}), -kInfinity, 0);
    const Traced shifted = Traced(call_, scores) - Traced(call_, spread(largest));
    const Hlo powers = exp_of(shifted).as(call_, scores.type);
    const Hlo sum = of_blind(call_.reduce(powers, "add", call_.splat(0, row), {4}), 0, 1);
    const Hlo shares = call_.body.add_same("stablehlo.divide", {powers, spread(sum)});
    const Hlo y = dot(shares, values(), "[0, 1] x [0, 2]", "[4] x [1]",
                      {sizes_.batch, sizes_.kv_heads, sizes_.queries, sizes_.group(), sizes_.value_width});
    const Hlo lse = (Traced(call_, largest) + log_of(Traced(call_, sum))).as(call_, sum.type);
    return {back(hlo_transpose(call_, y, {0, 2, 1, 3, 4}), call_.outputs[0]),
            call_.reshape(hlo_transpose(call_, lse, {0, 1, 3, 2}), call_.outputs[1].shape)};
  }

  /// Returns the gradients of q, k and v.
  std::vector<Hlo> backward() const {
    const Hlo scores = this->scores();
    const Hlo y = by_heads(call_.inputs[3], sizes_.queries, sizes_.value_width),
              d_y = by_heads(call_.inputs[5], sizes_.queries, sizes_.value_width);
    const Hlo lse = hlo_transpose(
        call_, call_.reshape(call_.inputs[4], {sizes_.batch, sizes_.kv_heads, sizes_.group(), sizes_.queries}),
        {0, 1, 3, 2});
    const Traced p = exp_of(Traced(call_, scores) - Traced(call_, spread(lse)));
    const Hlo d_p = dot(d_y, values(), "[0, 2] x [0, 2]", "[4] x [3]", pairs_);
    const Hlo own =
        call_.reduce(call_.body.add_same("stablehlo.multiply", {d_y, y}), "add", call_.splat(0, {wide_, {}}), {4});
    const Traced drift(call_, spread(hlo_transpose(call_, own, {0, 2, 1, 3})));
    const Hlo d_scores = (p * (Traced(call_, d_p) - drift) * sizes_.scale(attrs_)).as(call_, scores.type);
    const Hlo d_q = dot(d_scores, keys(), "[0, 1] x [0, 2]", "[4] x [1]",
                        {sizes_.batch, sizes_.kv_heads, sizes_.queries, sizes_.group(), sizes_.width});
    const Hlo d_k = dot(d_scores, queries(), "[0, 1] x [0, 2]", "[2, 3] x [1, 3]",
                        {sizes_.batch, sizes_.kv_heads, sizes_.keys, sizes_.width});
    const Hlo d_v = dot(p.as(call_, scores.type), d_y, "[0, 1] x [0, 2]", "[2, 3] x [1, 3]",
                        {sizes_.batch, sizes_.kv_heads, sizes_.keys, sizes_.value_width});
    return {back(hlo_transpose(call_, d_q, {0, 2, 1, 3, 4}), call_.outputs[0]),
            back(hlo_transpose(call_, d_k, {0, 2, 1, 3}), call_.outputs[1]),
            back(hlo_transpose(call_, d_v, {0, 2, 1, 3}), call_.outputs[2])};
  }

  /// Returns the largest score of each query; scores that are NaN do not count.
  std::vector<Hlo> largest() const {
    const double least =
        wide_ == DType::f64 ? std::numeric_limits<double>::lowest() : std::numeric_limits<float>::lowest();
    const Traced scores(call_, this->scores());
    const Hlo above = select_of(scores > least, scores, least).as(call_, {wide_, pairs_});
    const Hlo one = call_.reduce(above, "maximum", call_.splat(least, {wide_, {}}), {4});
    return {call_.reshape(hlo_transpose(call_, one, {0, 1, 3, 2}), call_.outputs[0].shape)};
  }

  /// Returns p v and the sums of p = exp(score - m), where m are largest scores.
  std::vector<Hlo> sums() const {
    const Hlo scores = this->scores();
    const Hlo given = call_.reshape(call_.inputs[3], {sizes_.batch, sizes_.kv_heads, sizes_.group(), sizes_.queries});
    const Hlo p = exp_of(Traced(call_, scores) - Traced(call_, spread(hlo_transpose(call_, given, {0, 1, 3, 2}))))
                      .as(call_, scores.type);
    const Hlo y = dot(p, values(), "[0, 1] x [0, 2]", "[4] x [1]",
                      {sizes_.batch, sizes_.kv_heads, sizes_.queries, sizes_.group(), sizes_.value_width});
    const Hlo sum = call_.reduce(p, "add", call_.splat(0, {wide_, {}}), {4});
    return {back(hlo_transpose(call_, y, {0, 2, 1, 3, 4}), call_.outputs[0]),
            call_.reshape(hlo_transpose(call_, sum, {0, 1, 3, 2}), call_.outputs[1].shape)};
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// Returns an operand of q's heads as [batch, positions, heads of k, heads of q for each, width].
  Hlo by_heads(const Hlo& x, int64_t positions, int64_t width) const {
    return call_.reshape(call_.convert(x, wide_), {sizes_.batch, positions, sizes_.kv_heads, sizes_.group(), width});
  }
  Hlo queries() const { return by_heads(call_.inputs[0], sizes_.queries, sizes_.width); }
  Hlo keys() const {
    return call_.reshape(call_.convert(call_.inputs[1], wide_),
                         {sizes_.batch, sizes_.keys, sizes_.kv_heads, sizes_.width});
  }
  Hlo values() const {
    return call_.reshape(call_.convert(call_.inputs[2], wide_),
                         {sizes_.batch, sizes_.keys, sizes_.kv_heads, sizes_.value_width});
  }

  /// Returns the scores [batch, heads of k, queries, heads of q for each, keys], -infinity for keys that are not seen.
  Hlo scores() const {
    const Hlo products = dot(queries(), keys(), "[0, 2] x [0, 2]", "[4] x [3]", pairs_);
    const Hlo scaled = (Traced(call_, products) * sizes_.scale(attrs_)).as(call_, products.type);
    if (ranges_ > 0) {
      const Type numbers{DType::i32, pairs_};
      const Hlo key = hlo_iota(call_, 4, numbers);
      const Hlo from = call_.broadcast_in(call_.inputs[ranges_], {0, 2}, pairs_),
                to = call_.broadcast_in(call_.inputs[ranges_ + 1], {0, 2}, pairs_);
      const Hlo seen =
          call_.body.add_same("stablehlo.and", {call_.compare("GE", key, from), call_.compare("LE", key, to)});
      return call_.select(seen, scaled, call_.splat(-kInfinity, scaled.type));
    }
    if (!attrs_.causal) return scaled;
    const Type positions{DType::i64, pairs_};
    const Hlo own =
        call_.body.add_same("stablehlo.add", {hlo_iota(call_, 2, positions), call_.begin(attrs_.begin, positions)});
    return call_.select(call_.compare("LE", hlo_iota(call_, 4, positions), own), scaled,
                        call_.splat(-kInfinity, scaled.type));
  }

  /// Returns a reduction of scores with `other` for queries that see no key, whose reduction is `none`.
  Hlo of_blind(const Hlo& reduced, double none, double other) const {
    if (ranges_ == 0) return reduced;
    return call_.select(call_.compare("EQ", reduced, call_.splat(none, reduced.type)), call_.splat(other, reduced.type),
                        reduced);
  }

  /// Returns one number for each query repeated for all keys.
  Hlo spread(const Hlo& x) const { return call_.broadcast_in(x, {0, 1, 2, 3}, pairs_); }

  /// Returns a product with all digits of f32 or f64. One of numbers of 16 bits is made of these, which a GPU
  /// multiplies many times as fast. If `b` alone has them, in bf16, `a` is the sum of two numbers of bf16, up to 2^-17
  /// of it.
  Hlo dot(const Hlo& a, const Hlo& b, const char* batching, const char* contracting, const Shape& shape) const {
    const std::string dims = fmt::format(", batching_dims = {}, contracting_dims = {}", batching, contracting);
    const auto product = [&](const Hlo& x, const Hlo& y, std::string_view precision) {
      return call_.body.add_typed("stablehlo.dot_general", {x, y}, dims + std::string(precision), {wide_, shape});
    };
    if (b.half && a.half == b.half) return product(call_.convert(a, *b.half), call_.convert(b, *b.half), "");
    if (a.half || b.half != DType::bf16) return product(a, b, kFullPrecision);
    const Hlo high = call_.convert(a, DType::bf16), narrow = call_.convert(b, DType::bf16);
    const Hlo rest = call_.body.add_same("stablehlo.subtract", {a, call_.convert(high, wide_)});
    return call_.body.add_same("stablehlo.add",
                               {product(high, narrow, ""), product(call_.convert(rest, DType::bf16), narrow, "")});
  }

  /// Returns a result with its heads in the last dimension.
  Hlo back(const Hlo& x, const Type& type) const { return call_.convert(call_.reshape(x, type.shape), type.dtype); }

  const EmitCall& call_;
  const size_t ranges_;
  const AttentionAttrs& attrs_;
  const AttentionSizes sizes_;
  const DType wide_;
  const Shape pairs_;
};

}  // namespace

std::vector<Hlo> emit_attention(const EmitCall& call) { return AttentionEmitter(call).forward(); }

std::vector<Hlo> emit_attention_grad(const EmitCall& call) { return AttentionEmitter(call).backward(); }

std::vector<Hlo> emit_attention_within(const EmitCall& call) { return AttentionEmitter(call, 3).forward(); }

std::vector<Hlo> emit_attention_within_grad(const EmitCall& call) { return AttentionEmitter(call, 6).backward(); }

std::vector<Hlo> emit_attention_max(const EmitCall& call) { return AttentionEmitter(call).largest(); }

std::vector<Hlo> emit_attention_sums(const EmitCall& call) { return AttentionEmitter(call).sums(); }

std::vector<Hlo> emit_attention_finish(const EmitCall& call) {
  const Type &y = call.outputs[0], &lse = call.outputs[1];
  if (lse.elements() == 0) return {call.splat(0, y), call.splat(0, lse)};
  const DType wide = wide_type(y.dtype);
  const Shape &rows = lse.shape, heads{rows[0], rows[2], rows[1], y.shape[2] / rows[1]};
  const Hlo sum = call.convert(call.inputs[1], wide), largest = call.convert(call.inputs[2], wide);
  const Hlo weighted = call.reshape(call.convert(call.inputs[0], wide), heads);
  const Hlo spread = call.broadcast_in(hlo_transpose(call, sum, {0, 2, 1}), {0, 1, 2}, heads);
  const Hlo shares = call.body.add_same("stablehlo.divide", {weighted, spread});
  const Hlo logarithm = (Traced(call, largest) + log_of(Traced(call, sum))).as(call, sum.type);
  return {call.convert(call.reshape(shares, y.shape), y.dtype), call.convert(logarithm, lse.dtype)};
}

}  // namespace partita
