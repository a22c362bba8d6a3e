#include "ops/support.h"

namespace partita {
namespace {

struct ScatterRowsAttrs {
  int64_t rows = 1;    // of the result
  int64_t begin = 0;   // global index of its first row
  int64_t total = 1;   // rows of the whole table
  static constexpr auto fields() {
    return std::tuple{field("rows", &ScatterRowsAttrs::rows), field("begin", &ScatterRowsAttrs::begin),
                      field("total", &ScatterRowsAttrs::total)};
  }
};

template <class T, class Id>
void scatter(const ScatterRowsAttrs& attrs, Inputs in, Outputs out) {
  const int64_t width = out[0].type.shape[1];
  std::vector<double> sums(out[0].type.elements(), 0);
  const Id* ids = in[0].as<Id>();
  const T* d_y = in[1].as<T>();
  for (int64_t i = 0; i < in[0].type.elements(); ++i, d_y += width) {
    const int64_t id = ids[i], row = id - attrs.begin;
    if (id < 0 || id >= attrs.total) {
      reject("scatter_rows", "id is outside the table", fmt::format("{}", id), fmt::format("0 to {}", attrs.total - 1),
             ErrorKind::index);
    }
    if (row < 0 || row >= attrs.rows) continue;
    for (int64_t z = 0; z < width; ++z) sums[row * width + z] += static_cast<double>(d_y[z]);
  }
  T* y = out[0].as<T>();
  for (size_t i = 0; i < sums.size(); ++i) y[i] = static_cast<T>(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(sums[i]));
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
    return {Type{d_y.dtype, {call.attrs.as<ScatterRowsAttrs>().rows, d_y.shape.back()}}};
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
      if (in[0].type.dtype == DType::i32) scatter<T, int32_t>(attrs, in, out);
      else scatter<T, int64_t>(attrs, in, out);
    });
  };
  op.samples = {{{ids_of({2, 3}, 10), sample_of({2, 3, 4})}, Attrs(ScatterRowsAttrs{10, 0, 10})},
                {{ids_of({5}, 6), sample_of({5, 3})}, Attrs(ScatterRowsAttrs{6, 0, 6})}};
  return op;
}

}  // namespace partita
