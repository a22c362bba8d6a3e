#include "ir/ops/index/attrs.h"
#include "ir/ops/support.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

int64_t scatter_add_rows_of(const ScatterAddAttrs& attrs, int64_t local_rows) {
  return attrs.rows > 0 ? attrs.rows : local_rows;
}

std::vector<Type> infer_scatter_add(const OpCall& call) {
  require_operands("scatter_add", call, 3);
  const Type &x = call.inputs[0], &ids = call.inputs[1], &updates = call.inputs[2];
  require_float("scatter_add", call, 0);
  require_rank("scatter_add", call, 0, 2);
  if (ids.dtype != DType::i32 && ids.dtype != DType::i64) {
    reject("scatter_add", "ids are not integers", print(ids), "i32 or i64", ErrorKind::type);
  }
  Type expected{x.dtype, ids.shape};
  expected.shape.push_back(x.shape[1]);
  if (updates != expected) reject("scatter_add", "updates do not fit", print(updates), print(expected));
  const ScatterAddAttrs& attrs = call.attrs.as<ScatterAddAttrs>();
  const int64_t local_rows = x.shape[0], total = scatter_add_rows_of(attrs, local_rows);
  if (attrs.begin < 0 || attrs.rows < 0 || local_rows > total || attrs.begin > total - local_rows) {
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

int64_t scatter_add_table_rows(const OpCall& call) {
  return scatter_add_rows_of(call.attrs.as<ScatterAddAttrs>(), call.inputs[0].shape[0]);
}

template <class T, class ScatterAddId>
void scatter_scatter_add(const ScatterAddAttrs& attrs, Inputs in, Outputs out) {
  const int64_t local_rows = in[0].type.shape[0], width = in[0].type.shape[1],
                rows = scatter_add_rows_of(attrs, local_rows);
  const T *x = in[0].as<T>(), *updates = in[2].as<T>();
  const ScatterAddId* ids = in[1].as<ScatterAddId>();
  std::vector<double> sums(x, x + local_rows * width);
  for (int64_t i = 0; i < in[1].type.elements(); ++i, updates += width) {
    const int64_t id = ids[i];
    require_id("scatter_add", id, rows);
    const int64_t row = id - attrs.begin;
    if (row < 0 || row >= local_rows) continue;
    for (int64_t z = 0; z < width; ++z) sums[row * width + z] += static_cast<double>(updates[z]);
  }
  T* y = out[0].as<T>();
  for (size_t i = 0; i < sums.size(); ++i) y[i] = T(static_cast<Wide<T>>(sums[i]));
}

}  // namespace

std::vector<OpDef> scatter_add_ops() {
  OpDef op;
  op.name = "scatter_add";
  op.summary = "x[v, z] plus, in row v, the sum of the rows of updates whose id is v";
  op.attrs = Attrs(ScatterAddAttrs{});
  op.infer = infer_scatter_add;
  op.rule = rule_scatter_add;
  op.localize = [](const Attrs& all, const Shard& shard) {
    const Range& range = shard.inputs[0][0];
    const ScatterAddAttrs& attrs = all.as<ScatterAddAttrs>();
    if (range.whole()) return all;
    return Attrs(ScatterAddAttrs{attrs.begin + range.begin, scatter_add_rows_of(attrs, range.size)});
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const ScatterAddAttrs& attrs = call.attrs.as<ScatterAddAttrs>();
    const Value d = call.d_outputs[0];
    return {d, Value(),
            call.apply("embedding", {d, call.inputs[1]}, EmbeddingAttrs{.begin = attrs.begin, .rows = attrs.rows})};
  };
  op.expand = [](const ExpandCall& call) -> std::vector<Value> {
    const ScatterAddAttrs& attrs = call.attrs.as<ScatterAddAttrs>();
    const int64_t local_rows = call.inputs[0].type().shape[0];
    const ScatterRowsAttrs rows{
        .rows = local_rows, .begin = attrs.begin, .total = scatter_add_rows_of(attrs, local_rows)};
    const Value sums = call.apply("scatter_rows", {call.inputs[1], call.inputs[2]}, rows);
    return {call.apply("add", {call.inputs[0], sums})};
  };
  op.traits.ids = {
      .operand = 1, .limit = scatter_add_table_rows, .require = [](const OpCall& call, int64_t id, int64_t) {
        require_id("scatter_add", id, scatter_add_table_rows(call));
      }};
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const ScatterAddAttrs& attrs = all.as<ScatterAddAttrs>();
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (in[1].type.dtype == DType::i32)
        scatter_scatter_add<T, int32_t>(attrs, in, out);
      else
        scatter_scatter_add<T, int64_t>(attrs, in, out);
    });
  };
  op.samples = {{{sample_of({10, 4}), ids_of({2, 3}, 10), sample_of({2, 3, 4})}, Attrs(ScatterAddAttrs{})},
                {{sample_of({3, 3}), ids_of({5}, 3), sample_of({5, 3})}, Attrs(ScatterAddAttrs{})},
                {{sample_of({4, 3}), ids_of({6}, 8), sample_of({6, 3})}, Attrs(ScatterAddAttrs{2, 8})}};
  return {op};
}

}  // namespace partita
