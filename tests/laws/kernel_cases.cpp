#include "laws/kernel_cases.h"

#include <algorithm>

#include "ir/ops/attention/attention.h"
#include "ir/ops/conv/conv2d.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/loss/cross_entropy.h"
#include "ir/ops/matmul/matmul.h"
#include "ir/ops/matmul/orthogonalize.h"
#include "ir/ops/norm/batch_norm.h"
#include "ir/ops/norm/row_norm.h"
#include "ir/ops/pool/pool.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"
#include "ir/ops/routing/attrs.h"
#include "ir/ops/shape/attrs.h"
#include "ir/ops/support.h"
#include "runtime/device/device.h"

namespace partita {

std::vector<KernelDef> listed_onednn_kernels();
std::vector<KernelDef> listed_loop_kernels();

namespace laws {
namespace {

bool is_served(const std::string& op) {
  const auto serves = [&](const KernelDef& def) { return std::count(def.ops.begin(), def.ops.end(), op) > 0; };
  return std::any_of(fast_kernels().begin(), fast_kernels().end(), serves);
}

/// Cases in both types, of ops that have a fast kernel.
class Cases {
 public:
  void add(const std::string& op, const Attrs& attrs, const std::vector<SampleInput>& inputs) {
    add_filled(op, attrs, fill(Sample{inputs, attrs}));
  }
  void add_filled(const std::string& op, const Attrs& attrs, const std::vector<Array>& inputs) {
    if (!is_served(op)) return;
    for (DType dtype : {DType::f32, DType::f64}) {
      all_.push_back({fmt::format("{}{} {}", op, attrs.print(), print(types_of(inputs))),
                      cast_floats(all_ops().at(op), attrs, inputs, dtype)});
    }
  }
  std::vector<NamedCase> take() { return std::move(all_); }

 private:
  std::vector<NamedCase> all_;
};

void add_convolutions(Cases& cases) {
  struct Conv {
    Shape x, weight;
    Conv2dAttrs attrs;
  };
  const Conv convs[] = {
      {{32, 1, 28, 28}, {6, 1, 5, 5}, {.pads = {2, 2, 2, 2}}},
      {{32, 6, 14, 14}, {16, 6, 5, 5}, {}},
      {{1, 3, 17, 19}, {20, 3, 7, 7}, {.stride = {2, 2}, .pads = {3, 3, 3, 3}}},
      {{2, 32, 9, 11}, {48, 32, 1, 1}, {.stride = {2, 2}}},
      {{3, 16, 13, 8}, {32, 16, 3, 3}, {.stride = {2, 1}, .pads = {0, 2, 1, 0}}},
      {{2, 24, 12, 12}, {16, 24, 3, 2}, {.dilation = {2, 3}, .pads = {2, 1, 2, 2}}},
      {{2, 32, 7, 7}, {64, 8, 3, 3}, {.pads = {1, 1, 1, 1}, .groups = 4}},
      {{2, 16, 10, 9}, {16, 1, 3, 3}, {.stride = {2, 2}, .pads = {1, 1, 1, 1}, .groups = 16}},
      {{1, 64, 5, 5}, {64, 64, 3, 3}, {.pads = {1, 1, 1, 1}}},
  };
  for (const auto& [x, weight, attrs] : convs) {
    const std::vector<Type> types{{DType::f64, x}, {DType::f64, weight}};
    const Attrs forward(attrs);
    const Shape y = all_ops().at("conv2d").infer({forward, types, {}})[0].shape;
    cases.add("conv2d", forward, {sample_of(x), sample_of(weight)});
    cases.add("conv2d_grad_input", Conv2dGradInputAttrs{attrs, {x[2], x[3]}}, {sample_of(y), sample_of(weight)});
    cases.add("conv2d_grad_filter", Conv2dGradFilterAttrs{attrs, {weight[2], weight[3]}}, {sample_of(x), sample_of(y)});
  }
}

void add_pools(Cases& cases) {
  struct Pool {
    Shape x;
    MaxPoolAttrs attrs;
  };
  const Pool pools[] = {
      {{32, 6, 28, 28}, {.kernel = {2, 2}, .stride = {2, 2}}},
      {{2, 64, 17, 15}, {.kernel = {3, 3}, .stride = {2, 2}, .pads = {1, 1, 1, 1}}},
      {{1, 20, 9, 7}, {.kernel = {3, 2}, .stride = {1, 1}, .pads = {0, 1, 2, 0}}},
  };
  for (const auto& [x, attrs] : pools) {
    const Attrs forward(attrs);
    const Case pooled(all_ops().at("max_pool"), Sample{{sample_of(x, Fill::distinct)}, forward});
    cases.add_filled("max_pool", forward, pooled.inputs);
    const Array d_y = fill(sample_of(pooled.outputs[0].shape()), 7);
    cases.add_filled("max_pool_grad", MaxPoolGradAttrs{attrs, {x[2], x[3]}}, {d_y, pooled.outputs[1]});
    // Equal elements, as the zeros after a relu: the first one counts.
    cases.add("max_pool", forward, {SampleInput{Type{DType::f64, x}, {Fill::ids, 3}}});
    for (bool with_padding : {true, false}) {
      const AvgPoolAttrs avg{attrs, with_padding};
      cases.add("avg_pool", avg, {sample_of(x)});
      cases.add("avg_pool_grad", AvgPoolGradAttrs{avg, {x[2], x[3]}, {0, 0}, {x[2], x[3]}},
                {sample_of(pooled.outputs[0].shape())});
    }
  }
}

void add_norms(Cases& cases) {
  for (int64_t groups : {1, 4}) {
    // Planes longer than a block of 16 bits, more channels than a tile has.
    for (const Shape& x :
         {Shape{8, 20, 7, 5}, Shape{32, 64, 6, 6}, Shape{32, 30}, Shape{4, 3, 29, 37}, Shape{4, 70, 2, 3}}) {
      const SampleInput channel = sample_of({x[1]}), mean = sample_of({groups, x[1]});
      const SampleInput rstd = sample_of({groups, x[1]}, Fill::positive);
      cases.add("batch_norm", Attrs(BatchNormAttrs{.groups = groups}), {sample_of(x), channel, channel});
      cases.add("batch_norm_grad", {}, {sample_of(x), channel, mean, rstd, sample_of(x)});
      cases.add("batch_norm_grad_sums", {}, {sample_of(x), mean, rstd, sample_of(x)});
      cases.add("moments_sum", Attrs(MomentsSumAttrs{groups}), {sample_of(x)});
    }
  }
}

/// Adds attention whose queries see ranges of keys, some of them empty, in several blocks of queries.
void add_attention_within(Cases& cases) {
  const Attrs attrs(AttentionAttrs{.heads = 6, .kv_heads = 3});
  for (const auto& [queries, keys] : {std::pair<int64_t, int64_t>{300, 200}, {1, 70}, {130, 260}}) {
    const Case forward(all_ops().at("attention_within"),
                       Sample{{sample_of({2, queries, 48}), sample_of({2, keys, 24}), sample_of({2, keys, 15}),
                               ids_of({2, queries}, keys), ids_of({2, queries}, keys + 20)},
                              attrs});
    cases.add_filled("attention_within", attrs, forward.inputs);
    cases.add_filled("attention_within_grad", attrs,
                     {forward.inputs[0], forward.inputs[1], forward.inputs[2], forward.outputs[0], forward.outputs[1],
                      fill(sample_of(forward.outputs[0].shape()), 7), forward.inputs[3], forward.inputs[4]});
  }
}

void add_transformers(Cases& cases) {
  for (const Shape& x : {Shape{300, 130}, Shape{7, 3, 33}}) {
    const SampleInput gamma = sample_of({x.back()});
    Shape rows = x;
    rows.back() = 1;
    const SampleInput mean = sample_of(rows), rstd = sample_of(rows, Fill::positive);
    cases.add("layer_norm", Attrs(RowNormAttrs{}), {sample_of(x), gamma, gamma});
    cases.add("layer_norm_grad", {}, {sample_of(x), gamma, mean, rstd, sample_of(x)});
    cases.add("rms_norm", Attrs(RowNormAttrs{}), {sample_of(x), gamma});
    cases.add("rms_norm_grad", {}, {sample_of(x), gamma, rstd, sample_of(x)});
  }
  for (const bool causal : {false, true}) {  // more queries than a block, and fewer keys than queries
    for (const int64_t keys : {300, 200}) {
      for (const int64_t group : {1, 3}) {
        const Shape q{2, 300, 24 * group}, k{2, keys, 24}, v{2, keys, 15};
        const Attrs attrs(AttentionAttrs{
            .heads = 3 * group, .causal = causal, .begin = causal ? 5 : 0, .kv_heads = group == 1 ? 0 : 3});
        const Case forward(all_ops().at("attention"), Sample{{sample_of(q), sample_of(k), sample_of(v)}, attrs});
        cases.add_filled("attention", attrs, forward.inputs);
        cases.add_filled("attention_grad", attrs,
                         {forward.inputs[0], forward.inputs[1], forward.inputs[2], forward.outputs[0],
                          forward.outputs[1], fill(sample_of(forward.outputs[0].shape()), 7)});
      }
    }
  }
  for (const int64_t begin : {-150, 0, 120}) {  // queries before and after the keys of a shard
    const Attrs attrs(AttentionAttrs{.heads = 6, .causal = true, .begin = begin, .kv_heads = 3});
    const SampleInput q = sample_of({2, 300, 48}), k = sample_of({2, 200, 24}), v = sample_of({2, 200, 15});
    const SampleInput y = sample_of({2, 300, 30}), row = sample_of({2, 6, 300}, Fill::positive);
    cases.add("attention_max", attrs, {q, k});
    cases.add("attention_sums", attrs, {q, k, v, row});
    cases.add("attention_grad", attrs, {q, k, v, y, row, y});
  }
  add_attention_within(cases);
  cases.add("rotary", Attrs(RotaryAttrs{.begin = 3}), {sample_of({2, 3, 17, 34})});
  cases.add("rotary", Attrs(RotaryAttrs{.heads = 2}), {sample_of({3, 17, 68}), ids_of({3, 17}, 30)});
  cases.add("write_rows", Attrs(), {sample_of({3, 40, 9}), sample_of({3, 7, 9}), ids_of({3, 7}, 45)});
  cases.add("rotary", Attrs(RotaryAttrs{.inverse = true, .heads = 5}), {sample_of({3, 40, 160})});
}

void add_large(Cases& cases) {
  const Shape image{32, 20, 14, 14}, wide{300, 210};
  for (const double exponent : {-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.7, 3.0, 4.0}) {
    cases.add("pow", Attrs(PowAttrs{exponent}), {sample_of(image, Fill::positive)});
  }
  for (const char* op : {"add", "mul"}) {
    const Attrs attrs = all_ops().at(op).attrs;
    cases.add(op, attrs, {sample_of(wide), sample_of({210})});
    cases.add(op, attrs, {sample_of({300, 1}), sample_of(wide)});
    cases.add(op, attrs, {sample_of({}), sample_of(wide)});
    cases.add(op, attrs, {sample_of({5, 1, 7, 1}), sample_of({4, 1, 6})});
  }
  const Attrs bias = all_ops().at("bias_add").attrs;
  cases.add("bias_add", bias, {sample_of(image), sample_of({20})});
  cases.add("bias_add", bias, {sample_of(wide), sample_of({210})});
  using Axes = std::vector<int64_t>;
  for (const Axes& axes : {Axes{0, 2, 3}, Axes{0}, Axes{2, 3}, Axes{0, 1, 2, 3}, Axes{1}}) {
    cases.add("reduce", Attrs(ReduceAttrs{.axes = axes, .scale = 0.5}), {sample_of(image)});
  }
  cases.add("reduce", Attrs(ReduceAttrs{.axes = {0}}), {sample_of(wide)});
  cases.add("matmul", Attrs(MatmulAttrs{}), {sample_of({70, 300}), sample_of({300, 130})});
  cases.add("matmul", Attrs(MatmulAttrs{true, false}), {sample_of({300, 1}), sample_of({300, 33})});
  cases.add("matmul", Attrs(MatmulAttrs{false, true}), {sample_of({3, 5, 40, 64}), sample_of({3, 5, 50, 64})});
  cases.add("matmul_rows", {}, {sample_of({70, 130}), sample_of({70, 33})});
  cases.add("matmul_rows", {}, {sample_of({3, 5, 40, 64}), sample_of({3, 5, 40, 50})});
  const SampleInput labels = ids_of({300}, 210), column = sample_of({300, 1}, Fill::positive);
  cases.add("cross_entropy", {}, {sample_of(wide), labels});
  cases.add("cross_entropy_grad", Attrs(CrossEntropyGradAttrs{.classes = 210}),
            {sample_of(wide), labels, column, column});
  cases.add("all_finite", {}, {sample_of({250, 201})});
  cases.add("orthogonalize", Attrs(OrthogonalizeAttrs{}), {sample_of({70, 130})});
  cases.add("orthogonalize", Attrs(OrthogonalizeAttrs{}), {sample_of({130, 5, 3, 3})});
}

/// Every update of an optimizer on more elements than one thread takes, with the attributes of each of its samples.
void add_updates(Cases& cases) {
  for (const OpDef& op : all_ops().all()) {
    if (!op.update) continue;
    for (const Sample& sample : op.samples) {
      std::vector<SampleInput> inputs = sample.inputs;
      for (SampleInput& input : inputs) {
        if (input.type.rank() > 0) input.type.shape = {250, 201};
      }
      cases.add(op.name, sample.attrs, inputs);
    }
  }
}

/// Every pointwise op on more elements than one thread takes, with the attributes and the fill of each of its samples.
void add_pointwise(Cases& cases) {
  for (const OpDef& op : all_ops().all()) {
    std::set<std::string> done;
    for (const Sample& sample : op.samples) {
      if (!op.pointwise || !done.insert(sample.attrs.print()).second) continue;
      std::vector<SampleInput> inputs = sample.inputs;
      for (SampleInput& input : inputs) input.type.shape = {8, 20, 14, 14};
      cases.add(op.name, sample.attrs, inputs);
    }
  }
}

/// Adds the ops that a mixture of experts applies to rows.
void add_routes(Cases& cases) {
  const Shape tokens{3, 40, 300}, slots{3, 64, 300};
  const SampleInput routes = ids_of({3, 40, 2}, 65), weights = sample_of({3, 40, 2});  // 64: no slot
  cases.add("dispatch", Attrs(DispatchAttrs{.size = 64}), {sample_of(tokens), routes});
  cases.add("dispatch", Attrs(DispatchAttrs{20, 30, 64}), {sample_of(tokens), routes, weights});
  cases.add("combine", Attrs(CombineAttrs{}), {sample_of(slots), routes, weights});
  cases.add("combine", Attrs(CombineAttrs{8, 80}), {sample_of(slots), routes});
  cases.add("transpose", Attrs(TransposeAttrs{{1, 0, 2, 3}}), {sample_of({6, 8, 40, 16})});
  cases.add("transpose", Attrs(TransposeAttrs{{2, 0, 1, 3}}), {sample_of({5, 3, 4, 7})});
  cases.add("transpose", Attrs(TransposeAttrs{{0, 1}}), {sample_of({5, 3})});
  cases.add("combine_grad_weights", Attrs(CombineAttrs{}), {sample_of(slots), routes, sample_of(tokens)});
}

/// Adds cases of empty shards: no rows, no columns, nothing to sum.
void add_empty(Cases& cases) {
  for (const auto& [rows, inner, columns] : {std::array<int64_t, 3>{0, 4, 5}, {3, 0, 5}, {3, 4, 0}}) {
    cases.add("matmul", Attrs(MatmulAttrs{}), {sample_of({rows, inner}), sample_of({inner, columns})});
    cases.add("matmul", Attrs(MatmulAttrs{true, true}), {sample_of({2, inner, rows}), sample_of({2, columns, inner})});
  }
  cases.add("matmul", Attrs(MatmulAttrs{}), {sample_of({0, 3, 4}), sample_of({0, 4, 5})});
  cases.add("dispatch", Attrs(DispatchAttrs{.size = 4}), {sample_of({2, 0, 3}), ids_of({2, 0, 2}, 4)});
  cases.add("combine", Attrs(CombineAttrs{.total = 4}), {sample_of({2, 0, 3}), ids_of({2, 5, 2}, 5)});
  cases.add("matmul_rows", {}, {sample_of({0, 3, 4}), sample_of({0, 3, 5})});
  for (const char* op : {"softmax", "log_softmax"}) cases.add(op, {}, {sample_of({7, 0})});
  for (const char* op : {"softmax_grad", "log_softmax_grad"}) cases.add(op, {}, {sample_of({7, 0}), sample_of({7, 0})});
  for (const Shape& x : {Shape{0, 5}, Shape{0, 5, 3, 2}, Shape{4, 5, 0, 2}}) {
    cases.add("batch_norm", Attrs(BatchNormAttrs{.epsilon = 1e-3, .groups = 2}),
              {sample_of(x), sample_of({5}), sample_of({5})});
  }
  const std::vector<int64_t> pads{1, 1, 1, 1};
  for (const auto& [images, channels, filters] : {std::array<int64_t, 3>{0, 3, 4}, {2, 0, 4}, {2, 3, 0}}) {
    const SampleInput x = sample_of({images, channels, 6, 5}), weight = sample_of({filters, channels, 3, 3});
    const SampleInput y = sample_of({images, filters, 6, 5});
    cases.add("conv2d", Attrs(Conv2dAttrs{.pads = pads}), {x, weight});
    cases.add("conv2d_grad_input", Conv2dGradInputAttrs{{.pads = pads}, {6, 5}}, {y, weight});
    cases.add("conv2d_grad_filter", Conv2dGradFilterAttrs{{.pads = pads}, {3, 3}}, {x, y});
  }
  const Conv2dGradInputAttrs unused{{.stride = {3, 3}}, {7, 8}};  // no tap reads the majority of x
  cases.add("conv2d_grad_input", Attrs(unused), {sample_of({2, 4, 3, 3}), sample_of({4, 3, 1, 1})});
  cases.add("conv2d_grad_input", Conv2dGradInputAttrs{{}, {4, 4}},
            {sample_of({2, 4, 0, 4}), sample_of({4, 3, 1, 1})});  // a shard that holds no outputs
  cases.add("conv2d_grad_filter", Attrs(Conv2dGradFilterAttrs{}), {sample_of({2, 3, 4, 4}), sample_of({2, 4, 0, 4})});
}

}  // namespace

const std::vector<KernelDef>& fast_kernels() {
  static const std::vector<KernelDef> all = [] {
    std::vector<KernelDef> defs = listed_onednn_kernels();
    for (KernelDef& def : listed_loop_kernels()) defs.push_back(std::move(def));
    return defs;
  }();
  return all;
}

Case cast_floats(const OpDef& op, const Attrs& attrs, const std::vector<Array>& inputs, DType dtype) {
  for (size_t kept = 0;; ++kept) {
    std::vector<Array> operands = inputs;
    for (size_t i = 0; i + kept < operands.size(); ++i) {
      if (is_float(operands[i].type().dtype)) operands[i] = cast(operands[i], dtype);
    }
    const std::vector<Type> types = types_of(operands), none;
    try {
      op.infer({attrs, types, none});
    } catch (const InvalidArgument&) {
      if (kept == operands.size()) throw;
      continue;
    }
    return Case(op, attrs, std::move(operands));
  }
}

const std::vector<NamedCase>& all_cases() {
  static const std::vector<NamedCase> all = [] {
    Cases cases;
    for (const OpDef& op : all_ops().all()) {
      for (const Sample& sample : op.samples) cases.add(op.name, sample.attrs, sample.inputs);
    }
    add_convolutions(cases);
    add_pools(cases);
    add_norms(cases);
    add_transformers(cases);
    add_large(cases);
    add_routes(cases);
    add_updates(cases);
    add_pointwise(cases);
    add_empty(cases);
    return cases.take();
  }();
  return all;
}

}  // namespace laws
}  // namespace partita
