// Scaled dot-product attention (Vaswani et al., 2017). Heads are a factor of the last dimension. So projections need no
// transpose, and cutting a projection's columns cuts the heads.

#include <cmath>

#include "ir/ops/attention/attention_loops.h"

namespace partita {
namespace {

constexpr int64_t kMaxPositions = int64_t{1} << 40;

}  // namespace

double AttentionSizes::scale(const AttentionAttrs& attrs) const {
  return attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, width)));
}

AttentionSizes attention_sizes(const AttentionAttrs& attrs, const Type& q, const Type& k, const Type& v) {
  const int64_t kv_heads = attrs.kv_heads > 0 ? attrs.kv_heads : attrs.heads;
  return {.batch = q.shape[0],
          .heads = attrs.heads,
          .kv_heads = kv_heads,
          .queries = q.shape[1],
          .keys = k.shape[1],
          .width = q.shape[2] / std::max<int64_t>(1, attrs.heads),
          .value_width = v.shape[2] / std::max<int64_t>(1, kv_heads)};
}

OpDef attention_part(const char* name, const char* summary, size_t operands) {
  OpDef op = new_op(name, summary, {.count = operands, .floats = {0}}, AttentionAttrs{});
  op.localize = localize_attention;
  op.traits.take_place = takes_begin<AttentionAttrs>();
  return op;
}

void require_attention(std::string_view op, const OpCall& call, const Type& v) {
  const auto& attrs = call.attrs.as<AttentionAttrs>();
  for (size_t i = 0; i < std::min<size_t>(3, call.inputs.size()); ++i) require_rank(op, call, i, 3);
  const Type &q = call.inputs[0], &k = call.inputs[1];
  const bool types = k.dtype == q.dtype && v.dtype == q.dtype;
  const bool fit = k.shape[0] == q.shape[0] && v.shape[0] == q.shape[0] && k.shape[1] == v.shape[1];
  if (!types || !fit || (attrs.kv_heads == 0 && k.shape[2] != q.shape[2])) {
    reject(op, "q, k and v do not fit", print({q, k, v}), "q[b, s, h d], k[b, t, h d] and v[b, t, h e]");
  }
  if (k.shape[1] == 0) reject(op, "there are no keys", print(k), "at least one");
  if (attrs.heads < 0 || attrs.begin < -kMaxPositions || attrs.begin > kMaxPositions || !std::isfinite(attrs.scale)) {
    reject(op, "bad attributes", call.attrs.print(),
           fmt::format("heads >= 0, begin from {0} to -{0} and a finite scale", kMaxPositions));
  }
  if (attrs.kv_heads < 0 || (attrs.kv_heads > 0 && attrs.heads % attrs.kv_heads != 0)) {
    reject(op, "heads of k and v do not divide those of q", fmt::format("{} of {}", attrs.kv_heads, attrs.heads),
           fmt::format("a divisor of {}", attrs.heads));
  }
  const AttentionSizes sizes = attention_sizes(attrs, q, k, v);
  if (sizes.q_row() != q.shape[2] || sizes.v_row() != v.shape[2]) {
    reject(op, "heads do not divide the width",
           fmt::format("{} heads of {} and {} of {}", sizes.heads, print(q), sizes.kv_heads, print(v)),
           "a divisor of both");
  }
  if (sizes.k_row() != k.shape[2]) {
    reject(op, "heads of q and k differ in width",
           fmt::format("{} heads of {} and {} of {}", sizes.heads, print(q), sizes.kv_heads, print(k)),
           fmt::format("{} columns of k", sizes.k_row()));
  }
}

Type lse_type(const AttentionSizes& sizes, DType dtype) {
  return {wide_type(dtype), {sizes.batch, sizes.heads, sizes.queries}};
}

std::vector<Type> attention_types(std::string_view op, const OpCall& call) {
  require_attention(op, call, call.inputs[2]);
  const Type &q = call.inputs[0], &v = call.inputs[2];
  const AttentionSizes sizes = attention_sizes(call.attrs.as<AttentionAttrs>(), q, call.inputs[1], v);
  return {Type{q.dtype, {q.shape[0], q.shape[1], sizes.y_row()}}, lse_type(sizes, q.dtype)};
}

std::vector<Type> attention_grad_types(std::string_view op, const OpCall& call) {
  require_attention(op, call, call.inputs[2]);
  const Type &q = call.inputs[0], &v = call.inputs[2];
  const AttentionSizes sizes = attention_sizes(call.attrs.as<AttentionAttrs>(), q, call.inputs[1], v);
  const Type y{q.dtype, {q.shape[0], q.shape[1], sizes.y_row()}}, lse = lse_type(sizes, q.dtype);
  if (call.inputs[3] != y || call.inputs[4] != lse || call.inputs[5] != y) {
    reject(op, "operands do not fit q, k and v", print(call.inputs),
           fmt::format("y and d_y {}, lse {}", print(y), print(lse)));
  }
  return {q, call.inputs[1], v};
}

AttentionHead AttentionSizes::head(int64_t pair) const {
  const int64_t b = pair / heads, h = pair % heads, kv = h / group();
  return {b * queries * q_row() + h * width, b * keys * k_row() + kv * width, b * keys * v_row() + kv * value_width,
          b * queries * y_row() + h * value_width, pair * queries};
}

ShardingRule attention_rule(const std::string& text, const std::string& modifiers, const OpCall& call) {
  const AttentionSizes sizes =
      attention_sizes(call.attrs.as<AttentionAttrs>(), call.inputs[0], call.inputs[1], call.inputs[2]);
  return einsum(text + " | d:whole e:whole e:no_flops" + modifiers, call,
                {{'h', sizes.kv_heads}, {'g', sizes.group()}, {'d', sizes.width}, {'e', sizes.value_width}});
}

Attrs localize_attention(const Attrs& given, const Shard& shard) {
  auto attrs = given.as<AttentionAttrs>();
  const Range& heads = shard.inputs.size() > 4 ? shard.inputs[4][1] : shard.outputs.back()[1];
  if (attrs.kv_heads > 0) attrs.kv_heads = std::max<int64_t>(1, heads.count() * attrs.kv_heads / heads.size);
  attrs.heads = heads.count();
  if (attrs.causal) attrs.begin += shard.inputs[0][1].begin - shard.inputs[1][1].begin;
  return Attrs(attrs);
}

namespace {

constexpr auto kAttention = "attention";

std::vector<Type> infer_attention(const OpCall& call) {
  std::vector<Type> types = attention_types(kAttention, call);
  const int64_t begin = call.attrs.as<AttentionAttrs>().begin;
  if (begin < 0) {
    reject(kAttention, "the first query sees no key", fmt::format("begin {}", begin), "0 or more");
  }
  return types;
}

std::vector<Value> grad_attention(const GradCall& call) {
  std::vector<Value> gradients(3);
  if (call.d_outputs[0]) {
    gradients = call.apply_all(
        "attention_grad",
        {call.inputs[0], call.inputs[1], call.inputs[2], call.outputs[0], call.outputs[1], call.d_outputs[0]},
        call.attrs);
  }
  if (!call.d_outputs[1]) return gradients;
  const auto [d_q, d_k] = gradients_of_lse(call);
  gradients[0] = added(call, gradients[0], d_q);
  gradients[1] = added(call, gradients[1], d_k);
  return gradients;
}

constexpr auto run_attention = []<class T>(const AttentionAttrs& attrs, Inputs in, Outputs out) {
  const AttentionSizes sizes = attention_sizes(attrs, in[0].type, in[1].type, in[2].type);
  attend<T>(sizes, sizes.scale(attrs), SeenKeys(attrs, sizes), in, out);
};

OpDef attention_op() {
  OpDef op = attention_part(
      kAttention, "softmax(scale q k^T) v for each head, keys after the query left out when causal; also lse", 3);
  op.traits.halves = {.operands = {0, 1, 2}, .results = 1};
  op.infer = infer_attention;
  op.rule = [](const OpCall& call) {
    return attention_rule("bq(hgd),bk(hd),bk(he)->bq(hge),b(hg)q", " k:expand", call);
  };
  op.grad = grad_attention;
  op.expand = expand_attention;
  op.emit = emit_attention;
  op.cudnn = cudnn_attention();
  op.traits.is_selected_for_recompute = true;
  op.flops_per_point = 4;
  op.kernel = float_kernel<double, AttentionAttrs>(run_attention);
  op.samples = {{{sample_of({2, 4, 6}), sample_of({2, 5, 6}), sample_of({2, 5, 4})}, AttentionAttrs{2}},
                {{sample_of({3, 4, 4}), sample_of({3, 4, 4}), sample_of({3, 4, 4})}, AttentionAttrs{4, true, 0.7}},
                {{sample_of({2, 4, 6}), sample_of({2, 7, 6}), sample_of({2, 7, 4})}, AttentionAttrs{2, true, 0, 2}},
                {{sample_of({1, 6, 4}), sample_of({1, 3, 4}), sample_of({1, 3, 6})}, AttentionAttrs{2, true}},
                {{sample_of({2, 4, 12}), sample_of({2, 5, 4}), sample_of({2, 5, 6})},
                 AttentionAttrs{.heads = 6, .causal = true, .begin = 1, .kv_heads = 2}}};
  return op;
}

constexpr auto kAttentionGrad = "attention_grad";

std::vector<Type> infer_attention_grad(const OpCall& call) { return attention_grad_types(kAttentionGrad, call); }

constexpr auto run_attention_grad = []<class T>(const AttentionAttrs& attrs, Inputs in, Outputs out) {
  const AttentionSizes sizes = attention_sizes(attrs, in[0].type, in[1].type, in[2].type);
  attend_back<T>(sizes, sizes.scale(attrs), SeenKeys(attrs, sizes), in, out);
};

OpDef attention_grad_op() {
  OpDef op = attention_part(kAttentionGrad, "d_q, d_k and d_v of attention from q, k, v, y, lse and d_y", 6);
  op.traits.halves = {.operands = {0, 1, 2, 3, 5}, .results = 3};
  op.infer = infer_attention_grad;
  op.rule = [](const OpCall& call) {
    return attention_rule("bq(hgd),bk(hd),bk(he),bq(hge),b(hg)q,bq(hge)->bq(hgd),bk(hd),bk(he)", "", call)
        .linear_in({5});
  };
  op.grad = by_formula(attention_grad_formula);
  op.emit = emit_attention_grad;
  op.cudnn = cudnn_attention_grad();
  op.flops_per_point = 10;
  op.kernel = float_kernel<double, AttentionAttrs>(run_attention_grad);
  op.samples = {{{sample_of({2, 4, 6}), sample_of({2, 5, 6}), sample_of({2, 5, 4}), sample_of({2, 4, 4}),
                  sample_of({2, 2, 4}), sample_of({2, 4, 4})},
                 AttentionAttrs{2}},
                {{sample_of({3, 4, 4}), sample_of({3, 4, 4}), sample_of({3, 4, 4}), sample_of({3, 4, 4}),
                  sample_of({3, 4, 4}), sample_of({3, 4, 4})},
                 AttentionAttrs{4, true, 0.7}},
                {{sample_of({2, 4, 6}), sample_of({2, 7, 6}), sample_of({2, 7, 4}), sample_of({2, 4, 4}),
                  sample_of({2, 2, 4}), sample_of({2, 4, 4})},
                 AttentionAttrs{2, true, 0, 2}},
                {{sample_of({2, 4, 12}), sample_of({2, 5, 4}), sample_of({2, 5, 6}), sample_of({2, 4, 18}),
                  sample_of({2, 6, 4}), sample_of({2, 4, 18})},
                 AttentionAttrs{.heads = 6, .causal = true, .begin = 1, .kv_heads = 2}}};
  return op;
}

}  // namespace

std::vector<OpDef> attention_ops() { return {attention_op(), attention_grad_op()}; }

}  // namespace partita
