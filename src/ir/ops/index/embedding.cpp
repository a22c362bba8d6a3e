#include "ir/ops/emission.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/kernels.h"
#include "ir/ops/sizes.h"

namespace partita {
namespace {

constexpr IdRule kEmbeddingIds{"embedding", "id is outside the table"};
constexpr IdRule kScatterRowsIds{"scatter_rows", "id is outside the table"};

void gather(const Attrs& all, Inputs in, Outputs out) {
  const auto& attrs = all.as<EmbeddingAttrs>();
  const int64_t local_rows = in[0].type.shape[0];
  const std::vector<int64_t> ids = kEmbeddingIds.read(in[1], attrs.total(local_rows));
  const auto bytes = in[0].type.shape[1] * static_cast<int64_t>(size_of(in[0].type.dtype));
  const auto* table = static_cast<const std::byte*>(in[0].data);
  auto* y = static_cast<std::byte*>(out[0].data);
  for (const int64_t id : ids) {
    const int64_t row = id - attrs.begin;
    y = row >= 0 && row < local_rows ? std::copy_n(table + row * bytes, bytes, y) : std::fill_n(y, bytes, std::byte{});
  }
}

/// Returns the local row of each id. Rows outside of the shard are below 0 or beyond it.
Hlo local_rows_of(const EmitCall& call, const Hlo& ids, int64_t begin) {
  return call.begins_at_0(begin) ? ids : call.body.add_same("stablehlo.subtract", {ids, call.begin(begin, ids.type)});
}

std::vector<Hlo> emit_embedding(const EmitCall& call) {
  return {hlo_rows(call, call.inputs[0], local_rows_of(call, call.inputs[1], call.attrs.as<EmbeddingAttrs>().begin))};
}

int64_t embedding_table_rows(const OpCall& call) {
  return call.attrs.as<EmbeddingAttrs>().total(call.inputs[0].shape[0]);
}

OpDef embedding_op() {
  OpDef op = new_op("embedding", "rows of table[v, z] by id", {.count = 2, .ranks = {{0, 2}}, .integers = {1, "ids"}},
                    EmbeddingAttrs{});
  op.traits.halves = {.operands = {0}, .results = 1};
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    if (!lies_in(call.inputs[0].shape[0], embedding_table_rows(call), call.attrs.as<EmbeddingAttrs>().begin)) {
      reject("embedding", "the rows are outside the table", call.attrs.print() + " of " + print(call.inputs[0]),
             "0 <= begin and begin + local rows <= rows");
    }
    Type result{call.inputs[0].dtype, call.inputs[1].shape};
    result.shape.push_back(call.inputs[0].shape[1]);
    return {result};
  };
  op.rule = [](const OpCall& call) { return einsum("vz,..->..z | v:lookup", call).linear_in({0}); };
  op.localize = localized<EmbeddingAttrs>(localize_rows);
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const EmbeddingAttrs& attrs = call.attrs.as<EmbeddingAttrs>();
    const int64_t rows = call.inputs[0].shape()[0];
    const ScatterRowsAttrs back{.rows = rows, .begin = attrs.begin, .total = attrs.total(rows)};
    return {call.apply("scatter_rows", {call.inputs[1], call.d_outputs[0]}, back), Value()};
  };
  op.traits.table_rows = embedding_table_rows;
  op.traits.ids = kEmbeddingIds.described(1, embedding_table_rows);
  op.emit = emit_embedding;
  op.traits.take_place = takes_begin<EmbeddingAttrs>();
  op.flops_per_point = 0;
  op.kernel = gather;
  op.samples = {{{sample_of({10, 4}), ids_of({2, 3}, 10)}, EmbeddingAttrs{}},
                {{sample_of({7, 3}), ids_of({5}, 7)}, EmbeddingAttrs{}},
                {{sample_of({4, 3}), ids_of({6}, 8)}, EmbeddingAttrs{2, 8}}};
  return op;
}

constexpr auto run_scatter_rows = []<class T>(const ScatterRowsAttrs& attrs, Inputs in, Outputs out) {
  const int64_t width = out[0].type.shape[1];
  std::vector<double> sums(out[0].type.elements(), 0);
  const T* d_y = in[1].as<T>();
  for (const int64_t id : kScatterRowsIds.read(in[0], attrs.total)) {
    const int64_t row = id - attrs.begin;
    for (int64_t z = 0; row >= 0 && row < attrs.rows && z < width; ++z) {
      sums[row * width + z] += static_cast<double>(d_y[z]);
    }
    d_y += width;
  }
  std::ranges::copy(sums, out[0].as<T>());
};

std::vector<Hlo> emit_scatter_rows(const EmitCall& call) {
  const Hlo rows = local_rows_of(call, call.inputs[0], call.attrs.as<ScatterRowsAttrs>().begin);
  return {hlo_add_rows(call, call.outputs[0].shape[0], rows, call.inputs[1])};
}

OpDef scatter_rows_op() {
  OpDef op = new_op("scatter_rows", "row r of the result is the sum of the rows of d_y whose id is r",
                    {.count = 2, .floats = {1}}, ScatterRowsAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const Type &ids = call.inputs[0], &d_y = call.inputs[1];
    Shape expected = ids.shape;
    expected.push_back(d_y.shape.empty() ? 0 : d_y.shape.back());
    if ((ids.dtype != DType::i32 && ids.dtype != DType::i64) || d_y.shape != expected) {
      reject("scatter_rows", "operands do not fit", print(call.inputs), "integer ids and one row for each");
    }
    const ScatterRowsAttrs& attrs = call.attrs.as<ScatterRowsAttrs>();
    if (!lies_in(attrs.rows, attrs.total, attrs.begin)) {
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
  op.localize = localized<ScatterRowsAttrs>([](ScatterRowsAttrs& attrs, const Shard& shard) {
    attrs.rows = shard.outputs[0][0].count();
    attrs.begin += shard.outputs[0][0].begin;
  });
  op.traits.ids =
      kScatterRowsIds.described(0, [](const OpCall& call) { return call.attrs.as<ScatterRowsAttrs>().total; });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const auto& attrs = call.attrs.as<ScatterRowsAttrs>();
    const EmbeddingAttrs rows{.begin = attrs.begin, .rows = attrs.total};
    return {Value(), call.apply("embedding", {call.d_outputs[0], call.inputs[0]}, rows)};
  };
  op.emit = emit_scatter_rows;
  op.traits.take_place = takes_begin(&ScatterRowsAttrs::rows);
  op.kernel = float_kernel<float, ScatterRowsAttrs>(run_scatter_rows);
  op.samples = {{{ids_of({2, 3}, 10), sample_of({2, 3, 4})}, ScatterRowsAttrs{10, 0, 10}},
                {{ids_of({5}, 6), sample_of({5, 3})}, ScatterRowsAttrs{6, 0, 6}},
                {{ids_of({6}, 8), sample_of({6, 3})}, ScatterRowsAttrs{4, 2, 8}}};
  return op;
}

}  // namespace

std::vector<OpDef> embedding_ops() { return {embedding_op(), scatter_rows_op()}; }

}  // namespace partita
