#include <numeric>

#include "ir/ops/emission.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/sizes.h"
#include "ir/ops/support.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

/// Checks that there are two operands, floats and i32 or i64 indices, with equal dimensions before the last and, if
/// `equal_last`, an equal last one. Throws InvalidArgument otherwise.
inline void require_along(std::string_view op, const OpCall& call, bool equal_last) {
  require_operands(op, call, 2);
  require_float(op, call);
  const Type &x = call.inputs[0], &indices = call.inputs[1];
  if (indices.dtype != DType::i32 && indices.dtype != DType::i64) {
    reject(op, "indices are not integers", print(indices), "i32 or i64", ErrorKind::type);
  }
  bool fits = x.rank() > 0 && x.rank() == indices.rank();
  for (int d = 0; fits && d + (equal_last ? 0 : 1) < x.rank(); ++d) fits = x.shape[d] == indices.shape[d];
  if (fits) return;
  reject(op, "operands do not fit", print(call.inputs),
         equal_last ? "equal shapes with a last dimension" : "shapes that are equal but for the last dimension");
}

/// Checks that 0 <= index < size. Throws InvalidArgument otherwise.
inline void require_index(std::string_view op, int64_t index, int64_t size) {
  if (index >= 0 && index < size) return;
  reject(op, "index is outside the last dimension", fmt::format("{}", index), fmt::format("0 to {}", size - 1),
         ErrorKind::index);
}

int64_t take_along_total_of(const TakeAlongAttrs& attrs, int64_t local_columns) {
  return attrs.total > 0 ? attrs.total : local_columns;
}

std::vector<Type> infer_take_along(const OpCall& call) {
  require_along("take_along", call, /*equal_last=*/false);
  const TakeAlongAttrs& attrs = call.attrs.as<TakeAlongAttrs>();
  const int64_t local_columns = call.inputs[0].shape.back(), total = take_along_total_of(attrs, local_columns);
  if (attrs.begin < 0 || attrs.total < 0 || local_columns > total || attrs.begin > total - local_columns) {
    reject("take_along", "the columns are outside the tensor", call.attrs.print() + " of " + print(call.inputs[0]),
           "0 <= begin and begin + local columns <= total");
  }
  return {Type{call.inputs[0].dtype, call.inputs[1].shape}};
}

/// Returns the row-major places in [rows.., columns] of indices[rows.., k], as a list: -1 for columns outside of those
/// that begin at `begin`.
Hlo hlo_places(const EmitCall& call, const Hlo& indices, int64_t begin, int64_t columns) {
  const int64_t width = indices.type.shape.back();
  const Shape flat{indices.type.elements() / std::max<int64_t>(1, width), width};
  const Type type{DType::i64, flat};
  const Traced own(call, call.convert(call.reshape(indices, flat), DType::i64));
  const Traced column = own - static_cast<double>(begin), row(call, hlo_iota(call, 0, type));
  const Traced place = row * static_cast<double>(columns) + column;
  const Traced inside = select_of(column < static_cast<double>(columns), place, -1);
  return call.reshape(select_of(column < 0, -1, inside).as(call, type), {flat[0] * width});
}

/// Indices outside of the columns give zeros, also those that the kernel refuses.
std::vector<Hlo> emit_take_along(const EmitCall& call) {
  const Hlo& x = call.inputs[0];
  const Type& result = call.outputs[0];
  if (result.elements() == 0) return {call.splat(0, result)};
  const Hlo places = hlo_places(call, call.inputs[1], call.attrs.as<TakeAlongAttrs>().begin, x.type.shape.back());
  return {call.reshape(hlo_rows(call, call.reshape(x, {x.type.elements(), 1}), places), result.shape)};
}

int64_t take_along_columns(const OpCall& call) {
  return take_along_total_of(call.attrs.as<TakeAlongAttrs>(), call.inputs[0].shape.back());
}

OpDef take_along_op() {
  OpDef op;
  op.name = "take_along";
  op.summary = "x[.., indices[.., k]]";
  op.attrs = Attrs(TakeAlongAttrs{});
  op.infer = infer_take_along;
  op.rule = [](const OpCall& call) { return einsum("..z,..k->..k | z:lookup", call).linear_in({0}); };
  op.localize = [](const Attrs& all, const Shard& shard) {
    const Range& range = shard.inputs[0].back();
    const TakeAlongAttrs& attrs = all.as<TakeAlongAttrs>();
    if (range.whole()) return all;
    return Attrs(TakeAlongAttrs{attrs.begin + range.begin, take_along_total_of(attrs, range.size)});
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const TakeAlongAttrs& attrs = call.attrs.as<TakeAlongAttrs>();
    const int64_t local_columns = call.inputs[0].shape().back();
    return {call.apply(
                "put_along", {call.d_outputs[0], call.inputs[1]},
                PutAlongAttrs{
                    .size = local_columns, .begin = attrs.begin, .total = take_along_total_of(attrs, local_columns)}),
            Value()};
  };
  op.traits.ids = {
      .operand = 1, .limit = take_along_columns, .require = [](const OpCall& call, int64_t index, int64_t) {
        require_index("take_along", index, take_along_columns(call));
      }};
  op.emit = emit_take_along;
  op.flops_per_point = 0;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const TakeAlongAttrs& attrs = all.as<TakeAlongAttrs>();
    const int64_t local_columns = in[0].type.shape.back(), width = in[1].type.shape.back(),
                  total = take_along_total_of(attrs, local_columns);
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* x = in[0].as<T>();
      T* y = out[0].as<T>();
      for_integer(in[1].type.dtype, [&](auto id_zero) {
        const auto* indices = in[1].as<decltype(id_zero)>();
        for (int64_t i = 0; i < out[0].type.elements(); ++i) {
          const auto index = static_cast<int64_t>(indices[i]);
          require_index("take_along", index, total);
          const int64_t column = index - attrs.begin;
          y[i] = column >= 0 && column < local_columns ? x[i / width * local_columns + column] : T{};
        }
      });
    });
  };
  op.samples = {{{sample_of({4, 6}), ids_of({4, 3}, 6)}, Attrs(TakeAlongAttrs{})},
                {{sample_of({2, 3, 5}), ids_of({2, 3, 7}, 5)}, Attrs(TakeAlongAttrs{})},
                {{sample_of({5}), ids_of({4}, 5)}, Attrs(TakeAlongAttrs{})},
                {{sample_of({5, 3}), ids_of({5, 4}, 6)}, Attrs(TakeAlongAttrs{2, 6})}};
  return op;
}

int64_t put_along_total_of(const PutAlongAttrs& attrs) { return attrs.total > 0 ? attrs.total : attrs.size; }

std::vector<Type> infer_put_along(const OpCall& call) {
  require_along("put_along", call, /*equal_last=*/true);
  const PutAlongAttrs& attrs = call.attrs.as<PutAlongAttrs>();
  if (attrs.size < 0 || attrs.begin < 0 || attrs.total < 0 || attrs.size > put_along_total_of(attrs) ||
      attrs.begin > put_along_total_of(attrs) - attrs.size) {
    reject("put_along", "the columns are outside the tensor", call.attrs.print(),
           "0 <= begin and begin + size <= total");
  }
  Type result = call.inputs[0];
  result.shape.back() = attrs.size;
  require_shape("put_along", result.shape);
  return {result};
}

template <class T, class Index>
void put(const PutAlongAttrs& attrs, Inputs in, Outputs out) {
  const int64_t width = in[0].type.shape.back(), total = put_along_total_of(attrs);
  const T* d = in[0].as<T>();
  const auto* indices = in[1].as<Index>();
  std::vector<double> sums(out[0].type.elements(), 0);
  for (int64_t i = 0; i < in[0].type.elements(); ++i) {
    const auto index = static_cast<int64_t>(indices[i]);
    require_index("put_along", index, total);
    const int64_t column = index - attrs.begin;
    if (column < 0 || column >= attrs.size) continue;
    sums[i / width * attrs.size + column] += static_cast<double>(d[i]);
  }
  T* y = out[0].as<T>();
  for (size_t i = 0; i < sums.size(); ++i) y[i] = T(static_cast<Wide<T>>(sums[i]));
}

/// Indices outside of the columns are left out, also those that the kernel refuses. Each of a few indices is compared
/// with all columns, and the sums have a fixed order; more are scattered.
std::vector<Hlo> emit_put_along(const EmitCall& call) {
  constexpr int64_t kFew = 64;
  const auto& attrs = call.attrs.as<PutAlongAttrs>();
  const Hlo &d = call.inputs[0], &indices = call.inputs[1];
  const Type& result = call.outputs[0];
  if (d.type.elements() == 0 || result.elements() == 0) return {call.splat(0, result)};
  if (d.type.shape.back() > kFew) {
    const Hlo places = hlo_places(call, indices, attrs.begin, attrs.size);
    const Hlo sums = hlo_add_rows(call, result.elements(), places, call.reshape(d, {d.type.elements(), 1}));
    return {call.reshape(sums, result.shape)};
  }
  Shape shape = result.shape;
  shape.insert(shape.end() - 1, d.type.shape.back());
  std::vector<int64_t> dims(d.type.shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  const Type ids{DType::i64, shape}, sums{wide_type(d.type.dtype), shape};
  const Traced column = Traced(call, hlo_iota(call, d.type.rank(), ids)) + static_cast<double>(attrs.begin);
  const Traced index(call, call.broadcast_in(call.convert(indices, DType::i64), dims, shape));
  const Hlo hit = (column == index).as(call, ids), one = call.convert(d, sums.dtype);
  const Hlo parts = call.select(hit, call.broadcast_in(one, dims, shape), call.splat(0, sums));
  return {call.convert(call.reduce(parts, "add", call.splat(0, {sums.dtype, {}}), {d.type.rank() - 1}), result.dtype)};
}

OpDef put_along_op() {
  OpDef op;
  op.name = "put_along";
  op.summary = "y[.., z] is the sum of the d[.., k] whose indices[.., k] is z";
  op.attrs = Attrs(PutAlongAttrs{});
  op.infer = infer_put_along;
  op.rule = [](const OpCall& call) {
    const std::map<char, int64_t> sizes{{'z', call.attrs.as<PutAlongAttrs>().size}};
    return einsum("..k,..k->..z | z:no_flops", call, sizes).linear_in({0});
  };
  op.localize = [](const Attrs& all, const Shard& shard) {
    const Range& range = shard.outputs[0].back();
    const PutAlongAttrs& attrs = all.as<PutAlongAttrs>();
    if (range.whole()) return all;
    return Attrs(PutAlongAttrs{range.count(), attrs.begin + range.begin, put_along_total_of(attrs)});
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const PutAlongAttrs& attrs = call.attrs.as<PutAlongAttrs>();
    return {call.apply("take_along", {call.d_outputs[0], call.inputs[1]},
                       TakeAlongAttrs{.begin = attrs.begin, .total = put_along_total_of(attrs)}),
            Value()};
  };
  op.traits.ids = {.operand = 1,
                   .limit = [](const OpCall& call) { return put_along_total_of(call.attrs.as<PutAlongAttrs>()); },
                   .require =
                       [](const OpCall& call, int64_t index, int64_t) {
                         require_index("put_along", index, put_along_total_of(call.attrs.as<PutAlongAttrs>()));
                       }};
  op.emit = emit_put_along;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const PutAlongAttrs& attrs = all.as<PutAlongAttrs>();
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (in[1].type.dtype == DType::i32)
        put<T, int32_t>(attrs, in, out);
      else
        put<T, int64_t>(attrs, in, out);
    });
  };
  op.samples = {{{sample_of({4, 3}), ids_of({4, 3}, 6)}, Attrs(PutAlongAttrs{6, 0, 6})},
                {{sample_of({2, 3, 7}), ids_of({2, 3, 7}, 5)}, Attrs(PutAlongAttrs{5})},
                {{sample_of({6}), ids_of({6}, 4)}, Attrs(PutAlongAttrs{4})},
                {{sample_of({5, 4}), ids_of({5, 4}, 8)}, Attrs(PutAlongAttrs{4, 2, 8})}};
  return op;
}

}  // namespace

std::vector<OpDef> take_along_ops() { return {take_along_op(), put_along_op()}; }

}  // namespace partita
