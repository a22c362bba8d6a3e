#include "ops/sizes.h"
#include "ops/support.h"
#include "ops/wide.h"

namespace partita {
namespace {

struct ScatterRowsAttrs {
  int64_t rows = 1;   // of the result
  int64_t begin = 0;  // global index of its first row
  int64_t total = 1;  // rows of the whole table
  static constexpr auto fields() {
    return std::tuple{field("rows", &ScatterRowsAttrs::rows), field("begin", &ScatterRowsAttrs::begin),
                      field("total", &ScatterRowsAttrs::total)};
  }
};

template <class T, class ScatterRowsId>
void scatter_scatter_rows(const ScatterRowsAttrs& attrs, Inputs in, Outputs out) {
  const int64_t width = out[0].type.shape[1];
  std::vector<double> sums(out[0].type.elements(), 0);
  const ScatterRowsId* ids = in[0].as<ScatterRowsId>();
  const T* d_y = in[1].as<T>();
  for (int64_t i = 0; i < in[0].type.elements(); ++i, d_y += width) {
    const int64_t id = ids[i];
    if (id < 0 || id >= attrs.total) {
      reject("scatter_rows", "id is outside the table", fmt::format("{}", id), fmt::format("0 to {}", attrs.total - 1),
             ErrorKind::index);
    }
    const int64_t row = id - attrs.begin;
    if (row < 0 || row >= attrs.rows) continue;
    for (int64_t z = 0; z < width; ++z) sums[row * width + z] += static_cast<double>(d_y[z]);
  }
  T* y = out[0].as<T>();
  for (size_t i = 0; i < sums.size(); ++i) y[i] = T(static_cast<Wide<T>>(sums[i]));
}

}  // namespace

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
    return einsum("..,..z->vz | v:uncounted", call, {{'v', call.attrs.as<ScatterRowsAttrs>().rows}}).linear_in({1});
  };
  op.localize = [](const Attrs& attrs, const Shard& shard) {
    ScatterRowsAttrs local = attrs.as<ScatterRowsAttrs>();
    local.rows = shard.outputs[0][0].count();
    local.begin += shard.outputs[0][0].begin;
    return Attrs(local);
  };
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

}  // namespace partita
