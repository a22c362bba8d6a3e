// The expansion of attention whose keys are cut. A shard computes each query's largest score over its keys, and, given
// the largest over all keys, its part of the sums over keys.

#include <cmath>
#include <limits>

#include "ir/ops/attention/attention.h"

namespace partita {
namespace {

/// Calls fn(pair, query, key, score) with the scaled score of each query and each key that it sees.
template <class T, class Fn>
void for_scores(const AttentionAttrs& attrs, const AttentionSizes& sizes, const T* q, const T* k, const Fn& fn) {
  const double scale = sizes.scale(attrs);
  for (int64_t pair = 0; pair < sizes.batch * sizes.heads; ++pair) {
    const AttentionHead at = sizes.head(pair);
    for (int64_t i = 0; i < sizes.queries; ++i) {
      for (int64_t j = 0; j < sizes.seen(attrs, i); ++j) {
        double score = 0;
        for (int64_t d = 0; d < sizes.width; ++d) {
          score += double(q[at.q + i * sizes.q_row() + d]) * double(k[at.k + j * sizes.k_row() + d]);
        }
        fn(pair, i, j, score * scale);
      }
    }
  }
}

constexpr auto kAttentionMax = "attention_max";

std::vector<Type> infer_attention_max(const OpCall& call) {
  require_attention(kAttentionMax, call, call.inputs[1]);
  return {lse_type(attention_sizes(call.attrs.as<AttentionAttrs>(), call.inputs[0], call.inputs[1], call.inputs[1]),
                   call.inputs[0].dtype)};
}

constexpr auto run_attention_max = []<class T>(const AttentionAttrs& attrs, Inputs in, Outputs out) {
  const AttentionSizes sizes = attention_sizes(attrs, in[0].type, in[1].type, in[1].type);
  auto* largest = out[0].as<T>();
  std::fill_n(largest, out[0].type.elements(), std::numeric_limits<T>::lowest());
  for_scores(attrs, sizes, in[0].as<T>(), in[1].as<T>(), [&](int64_t pair, int64_t i, int64_t, double score) {
    T& one = largest[pair * sizes.queries + i];
    one = std::max(one, static_cast<T>(score));
  });
};

OpDef attention_max_op() {
  OpDef op = attention_part(
      kAttentionMax,
      "the largest of each query's scores scale q k^T, of keys up to the query when causal; else the least float", 2);
  op.infer = infer_attention_max;
  op.rule = [](const OpCall& call) {
    const Type &q = call.inputs[0], &k = call.inputs[1];
    const AttentionSizes sizes = attention_sizes(call.attrs.as<AttentionAttrs>(), q, k, k);
    return einsum("bq(hgd),bk(hd)->b(hg)q | d:whole k:max", call,
                  {{'h', sizes.kv_heads}, {'g', sizes.group()}, {'d', sizes.width}});
  };
  op.emit = emit_attention_max;
  op.flops_per_point = 2;
  op.kernel = float_kernel<float, AttentionAttrs>(run_attention_max);
  op.samples = {{{sample_of({2, 4, 6}), sample_of({2, 5, 6})}, AttentionAttrs{2}},
                {{sample_of({1, 6, 4}), sample_of({1, 3, 4})}, AttentionAttrs{2, true}},
                {{sample_of({2, 4, 12}), sample_of({2, 5, 4})},
                 AttentionAttrs{.heads = 6, .causal = true, .begin = 1, .kv_heads = 2}}};
  return op;
}

constexpr auto kAttentionSums = "attention_sums";

std::vector<Type> infer_attention_sums(const OpCall& call) {
  require_attention(kAttentionSums, call, call.inputs[2]);
  const Type& q = call.inputs[0];
  const AttentionSizes sizes = attention_sizes(call.attrs.as<AttentionAttrs>(), q, call.inputs[1], call.inputs[2]);
  const Type lse = lse_type(sizes, q.dtype);
  if (call.inputs[3] != lse) reject(kAttentionSums, "operand 3 does not fit q", print(call.inputs), print(lse));
  return {Type{lse.dtype, {q.shape[0], q.shape[1], sizes.y_row()}}, lse};
}

constexpr auto run_attention_sums = []<class T>(const AttentionAttrs& attrs, Inputs in, Outputs out) {
  const AttentionSizes sizes = attention_sizes(attrs, in[0].type, in[1].type, in[2].type);
  const T* v = in[2].as<T>();
  const auto* largest = in[3].as<T>();
  std::vector<double> weighted(out[0].type.elements()), sums(out[1].type.elements());
  for_scores(attrs, sizes, in[0].as<T>(), in[1].as<T>(), [&](int64_t pair, int64_t i, int64_t j, double score) {
    const AttentionHead at = sizes.head(pair);
    const double p = std::exp(score - double(largest[pair * sizes.queries + i]));
    sums[pair * sizes.queries + i] += p;
    for (int64_t e = 0; e < sizes.value_width; ++e) {
      weighted[at.y + i * sizes.y_row() + e] += p * double(v[at.v + j * sizes.v_row() + e]);
    }
  });
  std::ranges::copy(weighted, out[0].as<T>());
  std::ranges::copy(sums, out[1].as<T>());
};

OpDef attention_sums_op() {
  OpDef op = attention_part(
      kAttentionSums,
      "with p = exp(scale q k^T - m), of keys up to the query when causal: p v, and the sum of p over keys", 4);
  op.infer = infer_attention_sums;
  op.rule = [](const OpCall& call) { return attention_rule("bq(hgd),bk(hd),bk(he),b(hg)q->bq(hge),b(hg)q", "", call); };
  op.emit = emit_attention_sums;
  op.flops_per_point = 4;
  op.kernel = float_kernel<float, AttentionAttrs>(run_attention_sums);
  op.samples = {
      {{sample_of({2, 4, 6}), sample_of({2, 5, 6}), sample_of({2, 5, 4}), sample_of({2, 2, 4})}, AttentionAttrs{2}},
      {{sample_of({1, 6, 4}), sample_of({1, 3, 4}), sample_of({1, 3, 6}), sample_of({1, 2, 6})},
       AttentionAttrs{2, true}},
      {{sample_of({2, 4, 12}), sample_of({2, 5, 4}), sample_of({2, 5, 6}), sample_of({2, 6, 4})},
       AttentionAttrs{.heads = 6, .causal = true, .begin = 1, .kv_heads = 2}}};
  return op;
}

constexpr auto kAttentionFinish = "attention_finish";

/// Infers the types of y[b, q, (h e)] and lse[b, h, q] from the operands: p v[b, q, (h e)], the sums of p[b, h, q], and
/// m[b, h, q]. Throws InvalidArgument if they do not fit.
std::vector<Type> infer_attention_finish(const OpCall& call) {
  const Shape &y = call.inputs[0].shape, &sums = call.inputs[1].shape;
  const bool fits = sums.size() == 3 && sums[0] == y[0] && sums[2] == y[1] && call.inputs[2] == call.inputs[1];
  if (!fits || (sums[1] == 0 ? y[2] != 0 : y[2] % sums[1] != 0)) {
    reject(kAttentionFinish, "operands do not fit", print(call.inputs), "[b, q, h e], [b, h, q] and [b, h, q]");
  }
  return {call.inputs[0], call.inputs[1]};
}

constexpr auto run_attention_finish = []<class T>(Inputs in, Outputs out) {
  const Shape &shape = in[0].type.shape, &rows = in[1].type.shape;
  const int64_t batch = rows[0], heads = rows[1], queries = rows[2], width = shape[2] / std::max<int64_t>(1, heads);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < queries; ++i) {
        const int64_t row = (b * heads + h) * queries + i, at = ((b * queries + i) * heads + h) * width;
        const double sum = double(in[1].as<T>()[row]);
        out[1].as<T>()[row] = T(double(in[2].as<T>()[row]) + std::log(sum));
        for (int64_t e = at; e < at + width; ++e) out[0].as<T>()[e] = T(double(in[0].as<T>()[e]) / sum);
      }
    }
  }
};

OpDef attention_finish_op() {
  OpDef op = new_op(
      kAttentionFinish,
      "from p v, the sums s of p and the largest scores m of attention_sums: p v / s for each head, and m + log s",
      {.count = 3, .floats = {0}, .same_dtype = true, .ranks = {{0, 3}}});
  op.infer = infer_attention_finish;
  op.rule = [](const OpCall& call) {
    return einsum("bq(he),bhq,bhq->bq(he),bhq | e:whole", call, {{'h', call.inputs[1].shape[1]}});
  };
  op.emit = emit_attention_finish;
  op.flops_per_point = 1;
  op.kernel = float_kernel<double>(run_attention_finish);
  op.samples = {{{sample_of({2, 4, 6}), sample_of({2, 3, 4}, Fill::positive), sample_of({2, 3, 4})}},
                {{sample_of({3, 5, 4}), sample_of({3, 4, 5}, Fill::positive), sample_of({3, 4, 5})}}};
  return op;
}

}  // namespace

std::vector<Value> expand_attention(const ExpandCall& call) {
  const Value q = call.inputs[0], k = call.inputs[1], v = call.inputs[2];
  const Value largest = call.apply("attention_max", {q, k}, call.attrs);
  const std::vector<Value> sums = call.apply_all("attention_sums", {q, k, v, largest}, call.attrs);
  const std::vector<Value> results = call.apply_all("attention_finish", {sums[0], sums[1], largest});
  return {to_dtype(call, results[0], q.dtype()), results[1]};
}

std::vector<OpDef> attention_parts_ops() { return {attention_max_op(), attention_sums_op(), attention_finish_op()}; }

}  // namespace partita
