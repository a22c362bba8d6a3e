#include "ir/ops/index/attrs.h"
#include "ir/ops/kernels.h"
#include "ir/ops/sizes.h"

namespace partita {
namespace {

constexpr IdRule kScatterAddIds{"scatter_add", "id is outside the table"};

int64_t scatter_add_table_rows(const OpCall& call) {
  return call.attrs.as<ScatterAddAttrs>().total(call.inputs[0].shape[0]);
}

std::vector<Type> infer_scatter_add(const OpCall& call) {
  const Type &x = call.inputs[0], &ids = call.inputs[1], &updates = call.inputs[2];
  Type expected{x.dtype, ids.shape};
  expected.shape.push_back(x.shape[1]);
  if (updates != expected) reject("scatter_add", "updates do not fit", print(updates), print(expected));
  const ScatterAddAttrs& attrs = call.attrs.as<ScatterAddAttrs>();
  if (attrs.rows < 0 || !lies_in(x.shape[0], scatter_add_table_rows(call), attrs.begin)) {
    reject("scatter_add", "the rows are outside the table", call.attrs.print() + " of " + print(x),
           "0 <= begin and begin + local rows <= rows");
  }
  return {x};
}

/// Returns the rule. The dimensions of the ids are cut only through the expansion, since every part would add x.
ShardingRule rule_scatter_add(const OpCall& call) {
  ShardingRule rule = einsum("vz,..,..z->vz | v:no_flops", call);
  for (const DimMap& dim : rule.inputs[1]) rule.factors[dim.factors[0]].cutting = Cutting::expand;
  return rule.linear_in({0, 2});
}

constexpr auto run_scatter_add = []<class T>(const ScatterAddAttrs& attrs, Inputs in, Outputs out) {
  const int64_t local_rows = in[0].type.shape[0], width = in[0].type.shape[1];
  const T *x = in[0].as<T>(), *updates = in[2].as<T>();
  std::vector<double> sums(x, x + local_rows * width);
  for (const int64_t id : kScatterAddIds.read(in[1], attrs.total(local_rows))) {
    const int64_t row = id - attrs.begin;
    for (int64_t z = 0; row >= 0 && row < local_rows && z < width; ++z) {
      sums[row * width + z] += static_cast<double>(updates[z]);
    }
    updates += width;
  }
  std::ranges::copy(sums, out[0].as<T>());
};

}  // namespace

std::vector<OpDef> scatter_add_ops() {
  OpDef op = new_op("scatter_add", "x[v, z] plus, in row v, the sum of the rows of updates whose id is v",
                    {.count = 3, .floats = {0}, .ranks = {{0, 2}}, .integers = {1, "ids"}}, ScatterAddAttrs{});
  op.infer = infer_scatter_add;
  op.rule = rule_scatter_add;
  op.localize = localized<ScatterAddAttrs>(localize_rows);
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const ScatterAddAttrs& attrs = call.attrs.as<ScatterAddAttrs>();
    const Value d = call.d_outputs[0];
    return {d, Value(),
            call.apply("embedding", {d, call.inputs[1]}, EmbeddingAttrs{.begin = attrs.begin, .rows = attrs.rows})};
  };
  op.expand = [](const ExpandCall& call) -> std::vector<Value> {
    const ScatterAddAttrs& attrs = call.attrs.as<ScatterAddAttrs>();
    const int64_t local_rows = call.inputs[0].type().shape[0];
    const ScatterRowsAttrs rows{.rows = local_rows, .begin = attrs.begin, .total = attrs.total(local_rows)};
    const Value sums = call.apply("scatter_rows", {call.inputs[1], call.inputs[2]}, rows);
    return {call.apply("add", {call.inputs[0], sums})};
  };
  op.traits.ids = kScatterAddIds.described(1, scatter_add_table_rows);
  op.kernel = float_kernel<float, ScatterAddAttrs>(run_scatter_add);
  op.samples = {{{sample_of({10, 4}), ids_of({2, 3}, 10), sample_of({2, 3, 4})}, ScatterAddAttrs{}},
                {{sample_of({3, 3}), ids_of({5}, 3), sample_of({5, 3})}, ScatterAddAttrs{}},
                {{sample_of({4, 3}), ids_of({6}, 8), sample_of({6, 3})}, ScatterAddAttrs{2, 8}}};
  return {op};
}

}  // namespace partita
