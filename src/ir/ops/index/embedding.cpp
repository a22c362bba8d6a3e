#include "ir/ops/emission.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/sizes.h"
#include "ir/ops/support.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

int64_t embedding_rows_of(const EmbeddingAttrs& attrs, int64_t local_rows) {
  return attrs.rows > 0 ? attrs.rows : local_rows;
}

template <class T, class EmbeddingId>
void gather(const EmbeddingAttrs& attrs, Inputs in, Outputs out) {
  const int64_t local_rows = in[0].type.shape[0], width = in[0].type.shape[1];
  const int64_t rows = embedding_rows_of(attrs, local_rows);
  const T* table = in[0].as<T>();
  const EmbeddingId* ids = in[1].as<EmbeddingId>();
  T* y = out[0].as<T>();
  for (int64_t i = 0; i < in[1].type.elements(); ++i, y += width) {
    const int64_t id = ids[i];
    require_id("embedding", id, rows);
    const int64_t row = id - attrs.begin;
    if (row >= 0 && row < local_rows)
      std::copy_n(table + row * width, width, y);
    else
      std::fill_n(y, width, T{});
  }
}

/// Returns the local row of each id. Rows outside of the shard are below 0 or beyond it.
Hlo local_rows_of(const EmitCall& call, const Hlo& ids, int64_t begin) {
  return begin == 0 ? ids : call.body.add_same("stablehlo.subtract", {ids, call.splat_integer(begin, ids.type)});
}

std::vector<Hlo> emit_embedding(const EmitCall& call) {
  return {hlo_rows(call, call.inputs[0], local_rows_of(call, call.inputs[1], call.attrs.as<EmbeddingAttrs>().begin))};
}

int64_t embedding_table_rows(const OpCall& call) {
  return embedding_rows_of(call.attrs.as<EmbeddingAttrs>(), call.inputs[0].shape[0]);
}

OpDef embedding_op() {
  OpDef op;
  op.name = "embedding";
  op.traits.halves = {.operands = {0}, .results = 1};
  op.summary = "rows of table[v, z] by id";
  op.attrs = Attrs(EmbeddingAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("embedding", call, 2);
    require_float("embedding", call, 0);
    require_rank("embedding", call, 0, 2);
    if (call.inputs[1].dtype != DType::i32 && call.inputs[1].dtype != DType::i64) {
      reject("embedding", "ids are not integers", print(call.inputs[1]), "i32 or i64", ErrorKind::type);
    }
    const EmbeddingAttrs& attrs = call.attrs.as<EmbeddingAttrs>();
    const int64_t local_rows = call.inputs[0].shape[0], total = embedding_rows_of(attrs, local_rows);
    if (attrs.begin < 0 || local_rows > total || attrs.begin > total - local_rows) {
      reject("embedding", "the rows are outside the table", call.attrs.print() + " of " + print(call.inputs[0]),
             "0 <= begin and begin + local rows <= rows");
    }
    Type result{call.inputs[0].dtype, call.inputs[1].shape};
    result.shape.push_back(call.inputs[0].shape[1]);
    return {result};
  };
  op.rule = [](const OpCall& call) { return einsum("vz,..->..z | v:lookup", call).linear_in({0}); };
  op.localize = [](const Attrs& attrs, const Shard& shard) {
    const Range& range = shard.inputs[0][0];
    const EmbeddingAttrs& whole = attrs.as<EmbeddingAttrs>();
    if (range.whole()) return attrs;
    return Attrs(EmbeddingAttrs{whole.begin + range.begin, embedding_rows_of(whole, range.size)});
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const EmbeddingAttrs& attrs = call.attrs.as<EmbeddingAttrs>();
    const int64_t local_rows = call.inputs[0].shape()[0];
    return {call.apply("scatter_rows", {call.inputs[1], call.d_outputs[0]},
                       ScatterRowsAttrs{
                           .rows = local_rows, .begin = attrs.begin, .total = embedding_rows_of(attrs, local_rows)}),
            Value()};
  };
  op.traits.table_rows = embedding_table_rows;
  op.traits.ids = {.operand = 1, .limit = embedding_table_rows, .require = [](const OpCall& call, int64_t id, int64_t) {
                     require_id("embedding", id, embedding_table_rows(call));
                   }};
  op.emit = emit_embedding;
  op.flops_per_point = 0;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const EmbeddingAttrs& attrs = all.as<EmbeddingAttrs>();
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (in[1].type.dtype == DType::i32)
        gather<T, int32_t>(attrs, in, out);
      else
        gather<T, int64_t>(attrs, in, out);
    });
  };
  op.samples = {{{sample_of({10, 4}), ids_of({2, 3}, 10)}, Attrs(EmbeddingAttrs{})},
                {{sample_of({7, 3}), ids_of({5}, 7)}, Attrs(EmbeddingAttrs{})},
                {{sample_of({4, 3}), ids_of({6}, 8)}, Attrs(EmbeddingAttrs{2, 8})}};
  return op;
}

template <class T, class ScatterRowsId>
void scatter_scatter_rows(const ScatterRowsAttrs& attrs, Inputs in, Outputs out) {
  const int64_t width = out[0].type.shape[1];
  std::vector<double> sums(out[0].type.elements(), 0);
  const ScatterRowsId* ids = in[0].as<ScatterRowsId>();
  const T* d_y = in[1].as<T>();
  for (int64_t i = 0; i < in[0].type.elements(); ++i, d_y += width) {
    const int64_t id = ids[i];
    require_id("scatter_rows", id, attrs.total);
    const int64_t row = id - attrs.begin;
    if (row < 0 || row >= attrs.rows) continue;
    for (int64_t z = 0; z < width; ++z) sums[row * width + z] += static_cast<double>(d_y[z]);
  }
  T* y = out[0].as<T>();
  for (size_t i = 0; i < sums.size(); ++i) y[i] = T(static_cast<Wide<T>>(sums[i]));
}

std::vector<Hlo> emit_scatter_rows(const EmitCall& call) {
  const auto& attrs = call.attrs.as<ScatterRowsAttrs>();
  return {hlo_add_rows(call, attrs.rows, local_rows_of(call, call.inputs[0], attrs.begin), call.inputs[1])};
}

OpDef scatter_rows_op() {
  OpDef op;
  op.name = "scatter_rows";
  op.summary = "row r of the result is the sum of the rows of d_y whose id is r";
  op.attrs = Attrs(ScatterRowsAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("scatter_rows", call, 2);
    require_float("scatter_rows", call, 1);
    const Type &ids = call.inputs[0], &d_y = call.inputs[1];
    Shape expected = ids.shape;
    expected.push_back(d_y.shape.empty() ? 0 : d_y.shape.back());
    if ((ids.dtype != DType::i32 && ids.dtype != DType::i64) || d_y.shape != expected) {
      reject("scatter_rows", "operands do not fit", print(call.inputs), "integer ids and one row for each");
    }
    const ScatterRowsAttrs& attrs = call.attrs.as<ScatterRowsAttrs>();
    if (attrs.rows < 0 || attrs.begin < 0 || attrs.rows > attrs.total || attrs.begin > attrs.total - attrs.rows) {
      reject("scatter_rows", "the rows are outside the table", call.attrs.print(),
             "0 <= begin and begin + rows <= total");
    }
    const Shape shape{attrs.rows, d_y.shape.back()};
    require_shape("scatter_rows", shape);
    return {Type{d_y.dtype, shape}};
  };
  op.rule = [](const OpCall& call) {
    return einsum("..,..z->vz | v:no_flops", call, {{'v', call.attrs.as<ScatterRowsAttrs>().rows}}).linear_in({1});
  };
  op.localize = [](const Attrs& attrs, const Shard& shard) {
    ScatterRowsAttrs local = attrs.as<ScatterRowsAttrs>();
    local.rows = shard.outputs[0][0].count();
    local.begin += shard.outputs[0][0].begin;
    return Attrs(local);
  };
  op.traits.ids = {.operand = 0,
                   .limit = [](const OpCall& call) { return call.attrs.as<ScatterRowsAttrs>().total; },
                   .require = [](const OpCall& call, int64_t id,
                                 int64_t) { require_id("scatter_rows", id, call.attrs.as<ScatterRowsAttrs>().total); }};
  op.emit = emit_scatter_rows;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const ScatterRowsAttrs& attrs = all.as<ScatterRowsAttrs>();
    for_float(in[1].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (in[0].type.dtype == DType::i32)
        scatter_scatter_rows<T, int32_t>(attrs, in, out);
      else
        scatter_scatter_rows<T, int64_t>(attrs, in, out);
    });
  };
  op.samples = {{{ids_of({2, 3}, 10), sample_of({2, 3, 4})}, Attrs(ScatterRowsAttrs{10, 0, 10})},
                {{ids_of({5}, 6), sample_of({5, 3})}, Attrs(ScatterRowsAttrs{6, 0, 6})},
                {{ids_of({6}, 8), sample_of({6, 3})}, Attrs(ScatterRowsAttrs{4, 2, 8})}};
  return op;
}

}  // namespace

std::vector<OpDef> embedding_ops() { return {embedding_op(), scatter_rows_op()}; }

}  // namespace partita
