// The gradients of attention as formulas of ops that have gradients, for gradients of gradients. They hold the scores
// of all queries and keys.

#include "ir/ops/attention/attention.h"
#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/matmul/matmul.h"
#include "ir/ops/reduce/attrs.h"

namespace partita {
namespace {

constexpr double kHidden = -1e30;  // a score whose exponential is 0

/// Builds nodes on the heads of k and v separately: [b, kv_heads, positions, width]. The heads of q for one of them,
/// its group, follow each other in `positions`.
class Heads {
 public:
  /// `ranges`: the operand with the first key that each query sees, which the last keys follow; 0 = none.
  Heads(const BuildCall& call, Value q, Value k, Value v, size_t ranges)
      : call_(call),
        ranges_(ranges),
        attrs_(call.attrs.as<AttentionAttrs>()),
        sizes_(attention_sizes(attrs_, q.type(), k.type(), v.type())),
        wide_(wide_type(q.dtype())),
        narrow_(q.dtype()),
        q_(of_queries(q, sizes_.width)),
        k_(of_keys(k, sizes_.width)) {}

  const Value& q() const { return q_; }
  const Value& k() const { return k_; }
  /// Returns q, y or a gradient of one of them, or k or v, by heads.
  Value of_queries(Value x, int64_t width) const {
    const Shape split{sizes_.batch, sizes_.queries, sizes_.kv_heads, sizes_.group(), width};
    return reshape(turned(reshape(to_dtype(call_, x, wide_), split), {0, 2, 3, 1, 4}), by_head(rows(), width));
  }
  Value of_keys(Value x, int64_t width) const {
    const Shape split{sizes_.batch, sizes_.keys, sizes_.kv_heads, width};
    return turned(reshape(to_dtype(call_, x, wide_), split), {0, 2, 1, 3});
  }
  /// Returns lse[b, heads, q], or its gradient, with one column.
  Value of_lse(Value lse) const { return reshape(lse, by_head(rows(), 1)); }
  /// Undo `of_queries` and `of_keys`.
  Value to_queries(Value x, int64_t width) const {
    const Shape split{sizes_.batch, sizes_.kv_heads, sizes_.group(), sizes_.queries, width};
    const Shape whole{sizes_.batch, sizes_.queries, sizes_.heads * width};
    return to_dtype(call_, reshape(turned(reshape(x, split), {0, 3, 1, 2, 4}), whole), narrow_);
  }
  Value to_keys(Value x, int64_t width) const {
    return to_dtype(call_, reshape(turned(x, {0, 2, 1, 3}), {sizes_.batch, sizes_.keys, sizes_.kv_heads * width}),
                    narrow_);
  }

  Value product(Value a, Value b, bool transpose_a, bool transpose_b) const {
    return call_.apply("matmul", {a, b}, MatmulAttrs{transpose_a, transpose_b});
  }
  /// Returns exp(scores - lse), 0 for keys that a query does not see.
  Value probabilities(Value lse) const {
    const Value scores = scaled(product(q_, k_, false, true));
    Value rest = call_.apply("sub", {scores, of_lse(lse)});
    if (ranges_ > 0) {
      const Shape line{sizes_.batch, 1, 1, sizes_.queries, 1};
      const auto bound = [&](size_t operand) { return reshape(call_.inputs[operand], line); };
      rest = hidden(hidden(rest, "greater", bound(ranges_ + 1)), "less", bound(ranges_));
    } else if (attrs_.causal) {
      const Shape line{sizes_.queries, 1};
      rest =
          hidden(rest, "greater", call_.apply("iota", {}, IotaAttrs{.axis = 0, .begin = attrs_.begin, .shape = line}));
    }
    return call_.apply("exp", {rest});
  }
  Value scaled(Value value) const { return call_.apply("scale", {value}, ScaleAttrs{.scale = sizes_.scale(attrs_)}); }
  const AttentionSizes& sizes() const { return sizes_; }

 private:
  /// Returns scores with kHidden for keys whose number has the relation `is` to `bound`.
  Value hidden(Value scores, const char* is, Value bound) const {
    const DType numbers = bound.dtype();
    const Value key = call_.apply("iota", {}, IotaAttrs{.axis = 1, .dtype = numbers, .shape = {1, sizes_.keys}});
    const Shape apart{sizes_.batch, sizes_.kv_heads, sizes_.group(), sizes_.queries, sizes_.keys};
    const Value least = constant(call_.builder, kHidden, Type{wide_, {}});
    const Value kept = call_.apply("select", {call_.apply(is, {key, bound}), least, reshape(scores, apart)});
    return reshape(kept, by_head(rows(), sizes_.keys));
  }
  int64_t rows() const { return sizes_.group() * sizes_.queries; }
  Shape by_head(int64_t positions, int64_t width) const { return {sizes_.batch, sizes_.kv_heads, positions, width}; }
  Value reshape(Value value, const Shape& shape) const {
    return call_.apply("reshape", {value}, ReshapeAttrs{.shape = shape});
  }
  Value turned(Value value, const std::vector<int64_t>& perm) const {
    return call_.apply("transpose", {value}, TransposeAttrs{.perm = perm});
  }

  const BuildCall& call_;
  size_t ranges_;
  AttentionAttrs attrs_;
  AttentionSizes sizes_;
  DType wide_, narrow_;
  Value q_, k_;
};

std::vector<Value> gradients_of(const ExpandCall& call, size_t ranges) {
  const Heads heads(call, call.inputs[0], call.inputs[1], call.inputs[2], ranges);
  const int64_t width = heads.sizes().width, value_width = heads.sizes().value_width;
  const Value v = heads.of_keys(call.inputs[2], value_width), y = heads.of_queries(call.inputs[3], value_width);
  const Value d_y = heads.of_queries(call.inputs[5], value_width), p = heads.probabilities(call.inputs[4]);
  const Value shared = call.apply("reduce", {call.apply("mul", {d_y, y})},
                                  ReduceAttrs{.kind = Reduce::sum, .axes = {3}, .keep_dims = true});
  const Value d_p = call.apply("sub", {heads.product(d_y, v, false, true), shared});
  const Value d_scores = heads.scaled(call.apply("mul", {p, d_p}));
  return {heads.to_queries(heads.product(d_scores, heads.k(), false, false), width),
          heads.to_keys(heads.product(d_scores, heads.q(), true, false), width),
          heads.to_keys(heads.product(p, d_y, true, false), value_width)};
}

}  // namespace

std::vector<Value> attention_grad_formula(const ExpandCall& call) { return gradients_of(call, /*ranges=*/0); }

std::vector<Value> attention_within_grad_formula(const ExpandCall& call) { return gradients_of(call, /*ranges=*/6); }

std::pair<Value, Value> gradients_of_lse(const GradCall& call) {
  const Heads heads(call, call.inputs[0], call.inputs[1], call.inputs[2], call.inputs.size() > 3 ? 3 : 0);
  const int64_t width = heads.sizes().width;
  const Value p = heads.probabilities(call.outputs[1]);
  const Value d_scores = heads.scaled(call.apply("mul", {p, heads.of_lse(call.d_outputs[1])}));
  return {heads.to_queries(heads.product(d_scores, heads.k(), false, false), width),
          heads.to_keys(heads.product(d_scores, heads.q(), true, false), width)};
}

}  // namespace partita
