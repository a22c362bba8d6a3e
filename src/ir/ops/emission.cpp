#include "ir/ops/emission.h"

#include <numeric>

#include "ir/ops/wide.h"

namespace partita {
namespace {

template <class T>
Hlo emitted_list(const EmitCall& call, const std::vector<T>& numbers, std::string_view format, DType dtype) {
  const Type type{dtype, {static_cast<int64_t>(numbers.size())}};
  std::string text;
  for (const T number : numbers) text += (text.empty() ? "" : ", ") + fmt::format(fmt::runtime(format), number);
  return call.body.add(fmt::format("stablehlo.constant dense<[{}]> : {}", text, hlo_type(type)), type);
}

/// Returns `x` with the sums of pairs along `axis`: elements 2 i and 2 i + 1.
struct PairSums {
  Hlo even, sums;  // `even` also has the last element of an odd number
};
PairSums pair_sums(const EmitCall& call, const Hlo& x, int64_t axis) {
  const int64_t size = x.type.shape[axis];
  std::vector<int64_t> begin(x.type.shape.size(), 0), end = x.type.shape, steps(x.type.shape.size(), 1);
  steps[axis] = 2;
  const Hlo even = hlo_slice(call, x, begin, end, steps);
  begin[axis] = 1;
  const Hlo odd = hlo_slice(call, x, begin, end, steps);
  begin[axis] = 0;
  end[axis] = size / 2 * 2;
  const Hlo first = size % 2 == 0 ? even : hlo_slice(call, x, begin, end, steps);
  return {even, call.body.add_same("stablehlo.add", {first, odd})};
}

}  // namespace

Traced computed_operand(const EmitCall& call, const Hlo& x) {
  return {call, call.convert(x, computed_type(x.type.dtype))};
}

Hlo rounded_result(const EmitCall& call, const Traced& y, const Type& type) {
  return call.convert(y.as(call, {computed_type(type.dtype), type.shape}), type.dtype);
}

Hlo hlo_iota(const EmitCall& call, int64_t dim, const Type& type) {
  return call.body.add(fmt::format("stablehlo.iota dim = {} : {}", dim, hlo_type(type)), type);
}

Hlo hlo_list(const EmitCall& call, const std::vector<double>& numbers) {
  return emitted_list(call, numbers, "{:.17e}", DType::f64);
}
Hlo hlo_list(const EmitCall& call, const std::vector<int64_t>& numbers) {
  return emitted_list(call, numbers, "{}", DType::i64);
}

Hlo hlo_transpose(const EmitCall& call, const Hlo& x, const std::vector<int64_t>& dims) {
  Type type{x.type.dtype, {}};
  for (const int64_t dim : dims) type.shape.push_back(x.type.shape[dim]);
  return call.body.add_typed("stablehlo.transpose", {x}, fmt::format(", dims = [{}]", fmt::join(dims, ", ")), type);
}

Hlo hlo_slice(const EmitCall& call, const Hlo& x, const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
              const std::vector<int64_t>& steps) {
  Type type{x.type.dtype, {}};
  std::string bounds;
  for (size_t d = 0; d < begin.size(); ++d) {
    bounds += fmt::format("{}{}:{}:{}", d == 0 ? "" : ", ", begin[d], end[d], steps[d]);
    type.shape.push_back((end[d] - begin[d] + steps[d] - 1) / steps[d]);
  }
  return call.body.add_typed("stablehlo.slice", {x}, fmt::format(" [{}]", bounds), type);
}

Hlo hlo_pad(const EmitCall& call, const Hlo& x, const Hlo& fill, const std::vector<HloEdge>& edges) {
  Type type = x.type;
  const size_t rank = type.shape.size(), first = rank - edges.size();
  std::vector<int64_t> before(rank, 0), after(rank, 0), between(rank, 0);
  for (size_t d = first; d < rank; ++d) {
    const HloEdge& edge = edges[d - first];
    before[d] = edge.before;
    after[d] = edge.after;
    between[d] = edge.between;
    int64_t& size = type.shape[d];
    size += edge.before + edge.after + std::max<int64_t>(0, size - 1) * edge.between;
  }
  return call.body.add_typed("stablehlo.pad", {x, fill},
                             fmt::format(", low = [{}], high = [{}], interior = [{}]", fmt::join(before, ", "),
                                         fmt::join(after, ", "), fmt::join(between, ", ")),
                             type);
}

Hlo hlo_rows(const EmitCall& call, const Hlo& table, const Hlo& numbers) {
  Type result{table.type.dtype, numbers.type.shape};
  result.shape.push_back(table.type.shape[1]);
  const Hlo zeros = call.splat(0, result);
  if (table.type.elements() == 0) return zeros;
  const int64_t last = result.rank() - 1;
  const Hlo found = call.body.add(
      fmt::format("\"stablehlo.gather\"({}, {}) {{dimension_numbers = #stablehlo.gather<offset_dims = [{}], "
                  "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {}>, slice_sizes = array<i64: "
                  "1, {}>, indices_are_sorted = false}} : {} -> {}",
                  table.name, numbers.name, last, last, table.type.shape[1], hlo_types({table, numbers}),
                  hlo_type(result)),
      result);
  const Hlo first = call.splat_integer(0, numbers.type), end = call.splat_integer(table.type.shape[0], numbers.type);
  const Hlo is_row =
      call.body.add_same("stablehlo.and", {call.compare("GE", numbers, first), call.compare("LT", numbers, end)});
  std::vector<int64_t> dims(static_cast<size_t>(last));
  std::iota(dims.begin(), dims.end(), 0);
  return call.select(call.broadcast_in(is_row, dims, result.shape), found, zeros);
}

namespace {

/// Returns rows[count, z] scattered into `x` by number. `combine`: lines of StableHLO that return an element
/// from %a, the one there, and %b, the new one.
Hlo scattered(const EmitCall& call, const Hlo& x, const Hlo& numbers, const Hlo& rows, const std::string& combine) {
  const Type one{x.type.dtype, {}};
  return call.body.add(
      fmt::format("\"stablehlo.scatter\"({0}, {1}, {2}) ({{\n    ^bb0(%a: {3}, %b: {3}):\n{7}"
                  "    }}) {{scatter_dimension_numbers = "
                  "#stablehlo.scatter<update_window_dims = [{4}], inserted_window_dims = [0], "
                  "scatter_dims_to_operand_dims = [0], index_vector_dim = {4}>, indices_are_sorted = false, "
                  "unique_indices = false}} : {5} -> {6}",
                  x.name, numbers.name, rows.name, hlo_type(one), rows.type.rank() - 1, hlo_types({x, numbers, rows}),
                  hlo_type(x.type), combine),
      x.type);
}

}  // namespace

Hlo hlo_add_rows(const EmitCall& call, int64_t count, const Hlo& numbers, const Hlo& updates) {
  const DType wide = wide_type(updates.type.dtype);
  const Hlo rows = call.convert(updates, wide), start = call.splat(0, {wide, {count, updates.type.shape.back()}});
  if (start.type.elements() == 0) return call.convert(start, updates.type.dtype);
  const std::string type = hlo_type({wide, {}});
  const Hlo sums =
      scattered(call, start, numbers, rows,
                fmt::format("      %sum = stablehlo.add %a, %b : {0}\n      stablehlo.return %sum : {0}\n", type));
  return call.convert(sums, updates.type.dtype);
}

Hlo hlo_set_rows(const EmitCall& call, const Hlo& x, const Hlo& numbers, const Hlo& rows) {
  return scattered(call, x, numbers, rows,
                   fmt::format("      stablehlo.return %b : {}\n", hlo_type({x.type.dtype, {}})));
}

Hlo hlo_rows_of_groups(const EmitCall& call, const Hlo& ids, int64_t groups, int64_t begin, int64_t rows) {
  const Type type{DType::i64, {groups, ids.type.elements() / std::max<int64_t>(1, groups)}};
  const Traced own(call, call.convert(call.reshape(ids, type.shape), DType::i64));
  const Traced row = own - Traced(call, call.begin(begin, type)), group(call, hlo_iota(call, 0, type));
  const Traced place = group * static_cast<double>(rows) + row;
  const Traced inside = select_of(row < static_cast<double>(rows), place, -1);
  return call.reshape(select_of(row < 0, -1, inside).as(call, type), {ids.type.elements()});
}

Hlo hlo_running_sums(const EmitCall& call, const Hlo& x, int64_t axis) {
  const int64_t size = x.type.shape[axis];
  if (size <= 1) return x;
  const PairSums pairs = pair_sums(call, x, axis);
  // Sums up to the odd elements; shifted by one pair, those before the even ones.
  const Hlo sums = hlo_running_sums(call, pairs.sums, axis), zero = call.splat(0, {x.type.dtype, {}});
  const auto pad = [&](const Hlo& part, const HloEdge& edge) {
    std::vector<HloEdge> edges(x.type.shape.size());
    edges[axis] = edge;
    return hlo_pad(call, part, zero, edges);
  };
  const Hlo before = pad(sums, {.before = 1, .after = size % 2 - 1});
  const Hlo even = call.body.add_same("stablehlo.add", {before, pairs.even});
  return call.body.add_same("stablehlo.add", {pad(even, {.after = 1 - size % 2, .between = 1}),
                                              pad(sums, {.before = 1, .after = size % 2, .between = 1})});
}

}  // namespace partita
