// Attention whose queries see the keys from a first to a last one, which are data: the tokens that a cache has so far,
// or those of the query's own document in a row of several documents.

#include "ir/ops/attention/attention_loops.h"

namespace partita {
namespace {

constexpr auto kWithin = "attention_within";
constexpr auto kWithinGrad = "attention_within_grad";

/// Checks the operands `first` and `first + 1`, which hold a number for each query. Throws InvalidArgument otherwise.
void require_ranges(std::string_view op, const OpCall& call, size_t first) {
  const Type& q = call.inputs[0];
  const Type numbers{DType::i32, {q.shape[0], q.shape[1]}};
  if (call.inputs[first] != numbers || call.inputs[first + 1] != numbers) {
    reject(op, "first and last keys do not fit the queries", print({call.inputs[first], call.inputs[first + 1]}),
           print(numbers));
  }
  const auto& attrs = call.attrs.as<AttentionAttrs>();
  if (attrs.causal || attrs.begin != 0) {
    reject(op, "the keys that are seen are data", call.attrs.print(), "causal=false and begin=0");
  }
}

constexpr auto run_within = []<class T>(const AttentionAttrs& attrs, Inputs in, Outputs out) {
  const AttentionSizes sizes = attention_sizes(attrs, in[0].type, in[1].type, in[2].type);
  attend<T>(sizes, sizes.scale(attrs), SeenKeys(attrs, sizes, in[3].as<int32_t>(), in[4].as<int32_t>()), in, out);
};

constexpr auto run_within_grad = []<class T>(const AttentionAttrs& attrs, Inputs in, Outputs out) {
  const AttentionSizes sizes = attention_sizes(attrs, in[0].type, in[1].type, in[2].type);
  attend_back<T>(sizes, sizes.scale(attrs), SeenKeys(attrs, sizes, in[6].as<int32_t>(), in[7].as<int32_t>()), in, out);
};

std::vector<Value> grad_within(const GradCall& call) {
  const std::vector<Value>& in = call.inputs;
  std::vector<Value> gradients(5);
  if (call.d_outputs[0]) {
    gradients = call.apply_all(kWithinGrad,
                               {in[0], in[1], in[2], call.outputs[0], call.outputs[1], call.d_outputs[0], in[3], in[4]},
                               call.attrs);
    gradients.resize(5);
  }
  if (!call.d_outputs[1]) return gradients;
  const auto [d_q, d_k] = gradients_of_lse(call);
  gradients[0] = added(call, gradients[0], d_q);
  gradients[1] = added(call, gradients[1], d_k);
  return gradients;
}

/// Returns the attributes on a shard, whose heads are dimension 1 of lse.
Attrs localize_within(const Attrs& given, const Range& heads) {
  auto attrs = given.as<AttentionAttrs>();
  if (attrs.kv_heads > 0) attrs.kv_heads = std::max<int64_t>(1, heads.count() * attrs.kv_heads / heads.size);
  attrs.heads = heads.count();
  return Attrs(attrs);
}

/// Returns a sample's first and last keys: numbers, of which some are no keys and some ranges are empty.
std::vector<SampleInput> ranges_of(int64_t batch, int64_t queries, int64_t keys) {
  SampleInput numbers = ids_of({batch, queries}, keys + 1);
  numbers.type.dtype = DType::i32;
  return {numbers, numbers};
}

Sample within_sample(std::vector<SampleInput> inputs, const AttentionAttrs& attrs) {
  const Shape &q = inputs[0].type.shape, &k = inputs[1].type.shape;
  for (const SampleInput& range : ranges_of(q[0], q[1], k[1])) inputs.push_back(range);
  return {std::move(inputs), attrs};
}

OpDef within_op() {
  OpDef op = new_op(kWithin, "attention of which each query sees the keys from first[b, q] to last[b, q]; also lse",
                    {.count = 5, .floats = {0, 1, 2}}, AttentionAttrs{});
  op.traits.halves = {.operands = {0, 1, 2}, .results = 1};
  op.infer = [](const OpCall& call) {
    std::vector<Type> types = attention_types(kWithin, call);
    require_ranges(kWithin, call, 3);
    return types;
  };
  op.rule = [](const OpCall& call) {
    return attention_rule("bq(hgd),bk(hd),bk(he),bq,bq->bq(hge),b(hg)q", " k:whole", call);
  };
  op.localize = [](const Attrs& attrs, const Shard& shard) { return localize_within(attrs, shard.outputs.back()[1]); };
  op.grad = grad_within;
  op.emit = emit_attention_within;
  op.traits.is_selected_for_recompute = true;
  op.flops_per_point = 4;
  op.kernel = float_kernel<double, AttentionAttrs>(run_within);
  op.samples = {
      within_sample({sample_of({2, 4, 6}), sample_of({2, 5, 6}), sample_of({2, 5, 4})}, {.heads = 2}),
      within_sample({sample_of({3, 4, 4}), sample_of({3, 4, 4}), sample_of({3, 4, 4})}, {.heads = 4, .scale = 0.7}),
      within_sample({sample_of({2, 1, 12}), sample_of({2, 5, 4}), sample_of({2, 5, 6})}, {.heads = 6, .kv_heads = 2})};
  return op;
}

OpDef within_grad_op() {
  OpDef op = new_op(kWithinGrad, "d_q, d_k and d_v of attention_within from q, k, v, y, lse, d_y, first and last",
                    {.count = 8, .floats = {0, 1, 2, 3, 4, 5}}, AttentionAttrs{});
  op.traits.halves = {.operands = {0, 1, 2, 3, 5}, .results = 3};
  op.infer = [](const OpCall& call) {
    std::vector<Type> types = attention_grad_types(kWithinGrad, call);
    require_ranges(kWithinGrad, call, 6);
    return types;
  };
  op.rule = [](const OpCall& call) {
    return attention_rule("bq(hgd),bk(hd),bk(he),bq(hge),b(hg)q,bq(hge),bq,bq->bq(hgd),bk(hd),bk(he)", " k:whole", call)
        .linear_in({5});
  };
  op.localize = [](const Attrs& attrs, const Shard& shard) { return localize_within(attrs, shard.inputs[4][1]); };
  op.grad = by_formula(attention_within_grad_formula);
  op.emit = emit_attention_within_grad;
  op.flops_per_point = 10;
  op.kernel = float_kernel<double, AttentionAttrs>(run_within_grad);
  op.samples = {within_sample({sample_of({2, 4, 6}), sample_of({2, 5, 6}), sample_of({2, 5, 4}), sample_of({2, 4, 4}),
                               sample_of({2, 2, 4}), sample_of({2, 4, 4})},
                              {.heads = 2}),
                within_sample({sample_of({2, 3, 12}), sample_of({2, 5, 4}), sample_of({2, 5, 6}), sample_of({2, 3, 18}),
                               sample_of({2, 6, 3}), sample_of({2, 3, 18})},
                              {.heads = 6, .kv_heads = 2})};
  return op;
}

}  // namespace

std::vector<OpDef> attention_within_ops() { return {within_op(), within_grad_op()}; }

}  // namespace partita
