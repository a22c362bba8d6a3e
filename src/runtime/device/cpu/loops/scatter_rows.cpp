// Sums rows with the same id. Ids are sorted by counting; then one thread computes each row of the result, summed in
// f64 in the order of the ids.

#include <algorithm>

#include "ir/ops/index/attrs.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kScatterRows = "loops.scatter_rows";

struct RowScatter {
  int64_t given = 0;  // number of ids, each with a row
  int64_t width = 0;  // elements of a row
  ScatterRowsAttrs attrs;

  /// Bytes for the begins of each result row's ids, and for the ids in the order of their rows.
  int64_t scratch_bytes() const { return (attrs.rows + 1 + given) * static_cast<int64_t>(sizeof(int64_t)); }
};

RowScatter row_scatter(const KernelQuery& query) {
  return {query.inputs[0].elements(), query.outputs[0].shape[1], query.attrs.as<ScatterRowsAttrs>()};
}

/// Sorts the positions of the ids by their row in this shard, stably, and leaves out ids of other shards. Row r has the
/// positions sorted[begins[r]] to sorted[begins[r + 1] - 1]. `begins` has attrs.rows + 1 elements, and `sorted` has
/// room for all ids. Throws InvalidArgument for an id outside the whole table.
template <class Id>
void sort_ids(const RowScatter& scatter, const Id* ids, int64_t* begins, int64_t* sorted) {
  const ScatterRowsAttrs& attrs = scatter.attrs;
  std::fill_n(begins, attrs.rows + 1, int64_t{0});
  const auto row_of = [&](int64_t i) -> int64_t {
    const int64_t row = static_cast<int64_t>(ids[i]) - attrs.begin;
    return row >= 0 && row < attrs.rows ? row : -1;
  };
  for (int64_t i = 0; i < scatter.given; ++i) {
    if (ids[i] < 0 || ids[i] >= attrs.total) {
      reject("scatter_rows", "id is outside the table", fmt::format("{}", ids[i]),
             fmt::format("0 to {}", attrs.total - 1), ErrorKind::index);
    }
    if (const int64_t row = row_of(i); row >= 0) ++begins[row + 1];
  }
  for (int64_t row = 0; row < attrs.rows; ++row) begins[row + 1] += begins[row];
  // Moves begins[row] to the end of the row, which is the begin of the next one.
  for (int64_t i = 0; i < scatter.given; ++i) {
    if (const int64_t row = row_of(i); row >= 0) sorted[begins[row]++] = i;
  }
  for (int64_t row = attrs.rows; row > 0; --row) begins[row] = begins[row - 1];
  begins[0] = 0;
}

template <class T>
void sum_rows(const T* d_y, int64_t width, const int64_t* first, const int64_t* last, T* y) {
  constexpr int64_t kBlock = 256;
  for (int64_t begin = 0; begin < width; begin += kBlock) {
    const int64_t count = std::min(kBlock, width - begin);
    double sums[kBlock] = {};
    for (const int64_t* at = first; at != last; ++at) {
      const T* row = d_y + *at * width + begin;
#pragma omp simd
      for (int64_t z = 0; z < count; ++z) sums[z] += static_cast<double>(row[z]);
    }
    for (int64_t z = 0; z < count; ++z) y[begin + z] = static_cast<T>(sums[z]);
  }
}

template <class T, class Id>
LoopFn bind_scatter_rows(const RowScatter& scatter) {
  return [=](auto in, auto out, void* scratch) {
    int64_t *begins = static_cast<int64_t*>(scratch), *sorted = begins + scatter.attrs.rows + 1;
    sort_ids(scatter, static_cast<const Id*>(in[0]), begins, sorted);
    const T* d_y = static_cast<const T*>(in[1]);
    T* y = static_cast<T*>(out[0]);
#pragma omp parallel for schedule(dynamic, 16) if (scatter.given * scatter.width > kSerialElements)
    for (int64_t row = 0; row < scatter.attrs.rows; ++row) {
      sum_rows(d_y, scatter.width, sorted + begins[row], sorted + begins[row + 1], y + row * scatter.width);
    }
  };
}

template <class T>
LoopFn bind_scatter_rows(const KernelQuery& query) {
  const RowScatter scatter = row_scatter(query);
  return query.inputs[0].dtype == DType::i32 ? bind_scatter_rows<T, int32_t>(scatter)
                                             : bind_scatter_rows<T, int64_t>(scatter);
}

KernelChoice propose_scatter_rows(const KernelQuery& query) {
  const DType dtype = query.inputs[1].dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return refuse("only f32 and f64");
  return {.kernel = kScatterRows,
          .inputs = {MemoryFormat{}, MemoryFormat{}},
          .outputs = {MemoryFormat{}},
          .scratch_bytes = row_scatter(query).scratch_bytes()};
}

}  // namespace

std::vector<KernelDef> scatter_rows_kernels() {
  KernelDef def{.name = kScatterRows, .ops = {"scatter_rows"}, .propose = propose_scatter_rows};
  def.make = [](const KernelQuery& query, const KernelChoice&) {
    return make_loop(query.inputs[1].dtype == DType::f64 ? bind_scatter_rows<double>(query)
                                                         : bind_scatter_rows<float>(query));
  };
  return {def};
}

}  // namespace partita
