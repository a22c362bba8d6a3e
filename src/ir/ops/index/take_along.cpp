#include <numeric>

#include "ir/ops/emission.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/kernels.h"
#include "ir/ops/sizes.h"
#include "ir/ops/wide.h"

namespace partita {
namespace {

constexpr IdRule kTakeAlongIds{"take_along", "index is outside the last dimension"};
constexpr IdRule kPutAlongIds{"put_along", "index is outside the last dimension"};

/// Checks that both operands have equal dimensions before the last and, if `equal_last`, an equal last one. Throws
/// InvalidArgument otherwise.
void require_along(std::string_view op, const OpCall& call, bool equal_last) {
  const Type &x = call.inputs[0], &indices = call.inputs[1];
  bool fits = x.rank() > 0 && x.rank() == indices.rank();
  for (int d = 0; fits && d + (equal_last ? 0 : 1) < x.rank(); ++d) fits = x.shape[d] == indices.shape[d];
  if (fits) return;
  reject(op, "operands do not fit", print(call.inputs),
         equal_last ? "equal shapes with a last dimension" : "shapes that are equal but for the last dimension");
}

int64_t take_along_columns(const OpCall& call) {
  return call.attrs.as<TakeAlongAttrs>().whole(call.inputs[0].shape.back());
}

std::vector<Type> infer_take_along(const OpCall& call) {
  require_along("take_along", call, /*equal_last=*/false);
  const auto& attrs = call.attrs.as<TakeAlongAttrs>();
  if (attrs.total < 0 || !lies_in(call.inputs[0].shape.back(), take_along_columns(call), attrs.begin)) {
    reject("take_along", "the columns are outside the tensor", call.attrs.print() + " of " + print(call.inputs[0]),
           "0 <= begin and begin + local columns <= total");
  }
  return {Type{call.inputs[0].dtype, call.inputs[1].shape}};
}

/// Returns the row-major places in [rows.., columns] of indices[rows.., k], as a list: -1 for columns outside of those
/// that begin at `begin`.
Hlo hlo_places(const EmitCall& call, const Hlo& indices, int64_t begin, int64_t columns) {
  const int64_t width = std::max<int64_t>(1, indices.type.shape.back());
  return hlo_rows_of_groups(call, indices, indices.type.elements() / width, begin, columns);
}

/// Indices outside of the columns give zeros, also those that the kernel refuses.
std::vector<Hlo> emit_take_along(const EmitCall& call) {
  const Hlo& x = call.inputs[0];
  const Type& result = call.outputs[0];
  if (result.elements() == 0) return {call.splat(0, result)};
  const Hlo places = hlo_places(call, call.inputs[1], call.attrs.as<TakeAlongAttrs>().begin, x.type.shape.back());
  return {call.reshape(hlo_rows(call, call.reshape(x, {x.type.elements(), 1}), places), result.shape)};
}

void run_take_along(const Attrs& all, Inputs in, Outputs out) {
  const auto& attrs = all.as<TakeAlongAttrs>();
  const int64_t columns = in[0].type.shape.back(), width = in[1].type.shape.back();
  const std::vector<int64_t> indices = kTakeAlongIds.read(in[1], attrs.whole(columns));
  for_element_size(in[0].type.dtype, [&](auto zero) {
    const auto* x = static_cast<const decltype(zero)*>(in[0].data);
    auto* y = static_cast<decltype(zero)*>(out[0].data);
    for (int64_t i = 0; i < out[0].type.elements(); ++i) {
      const int64_t column = indices[i] - attrs.begin;
      y[i] = column >= 0 && column < columns ? x[i / width * columns + column] : zero;
    }
  });
}

OpDef take_along_op() {
  OpDef op = new_op("take_along", "x[.., indices[.., k]]", {.count = 2, .integers = {1, "indices"}}, TakeAlongAttrs{});
  op.infer = infer_take_along;
  op.rule = [](const OpCall& call) { return einsum("..z,..k->..k | z:lookup", call).linear_in({0}); };
  op.localize = localized<TakeAlongAttrs>(
      [](TakeAlongAttrs& attrs, const Shard& shard) { localize_part(attrs, shard.inputs[0].back()); });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const auto& attrs = call.attrs.as<TakeAlongAttrs>();
    const int64_t columns = call.inputs[0].shape().back();
    const PutAlongAttrs back{.size = columns, .begin = attrs.begin, .total = attrs.whole(columns)};
    return {call.apply("put_along", {call.d_outputs[0], call.inputs[1]}, back), Value()};
  };
  op.traits.ids = kTakeAlongIds.described(1, take_along_columns);
  op.emit = emit_take_along;
  op.traits.take_place = takes_begin<TakeAlongAttrs>();
  op.flops_per_point = 0;
  op.kernel = run_take_along;
  op.samples = {{{sample_of({4, 6}), ids_of({4, 3}, 6)}, TakeAlongAttrs{}},
                {{sample_of({2, 3, 5}), ids_of({2, 3, 7}, 5)}, TakeAlongAttrs{}},
                {{sample_of({5}), ids_of({4}, 5)}, TakeAlongAttrs{}},
                {{sample_of({5, 3}), ids_of({5, 4}, 6)}, TakeAlongAttrs{2, 6}}};
  return op;
}

std::vector<Type> infer_put_along(const OpCall& call) {
  require_along("put_along", call, /*equal_last=*/true);
  const auto& attrs = call.attrs.as<PutAlongAttrs>();
  if (attrs.total < 0 || !lies_in(attrs.size, attrs.whole(), attrs.begin)) {
    reject("put_along", "the columns are outside the tensor", call.attrs.print(),
           "0 <= begin and begin + size <= total");
  }
  Type result = call.inputs[0];
  result.shape.back() = attrs.size;
  require_shape("put_along", result.shape);
  return {result};
}

constexpr auto run_put_along = []<class T>(const PutAlongAttrs& attrs, Inputs in, Outputs out) {
  const int64_t width = in[0].type.shape.back();
  const T* d = in[0].as<T>();
  const std::vector<int64_t> indices = kPutAlongIds.read(in[1], attrs.whole());
  std::vector<double> sums(out[0].type.elements(), 0);
  for (int64_t i = 0; i < in[0].type.elements(); ++i) {
    const int64_t column = indices[i] - attrs.begin;
    if (column < 0 || column >= attrs.size) continue;
    sums[i / width * attrs.size + column] += static_cast<double>(d[i]);
  }
  std::ranges::copy(sums, out[0].as<T>());
};

/// Indices outside of the columns are left out, also those that the kernel refuses. Each of a few indices is compared
/// with all columns, and the sums have a fixed order; more are scattered.
std::vector<Hlo> emit_put_along(const EmitCall& call) {
  constexpr int64_t kFew = 64;
  const auto& attrs = call.attrs.as<PutAlongAttrs>();
  const Hlo &d = call.inputs[0], &indices = call.inputs[1];
  const Type& result = call.outputs[0];
  if (d.type.elements() == 0 || result.elements() == 0) return {call.splat(0, result)};
  if (d.type.shape.back() > kFew) {
    const Hlo places = hlo_places(call, indices, attrs.begin, result.shape.back());
    const Hlo sums = hlo_add_rows(call, result.elements(), places, call.reshape(d, {d.type.elements(), 1}));
    return {call.reshape(sums, result.shape)};
  }
  Shape shape = result.shape;
  shape.insert(shape.end() - 1, d.type.shape.back());
  std::vector<int64_t> dims(d.type.shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  const Type ids{DType::i64, shape}, sums{wide_type(d.type.dtype), shape};
  const Traced column = Traced(call, hlo_iota(call, d.type.rank(), ids)) + Traced(call, call.begin(attrs.begin, ids));
  const Traced index(call, call.broadcast_in(call.convert(indices, DType::i64), dims, shape));
  const Hlo hit = (column == index).as(call, ids), one = call.convert(d, sums.dtype);
  const Hlo parts = call.select(hit, call.broadcast_in(one, dims, shape), call.splat(0, sums));
  return {call.convert(call.reduce(parts, "add", call.splat(0, {sums.dtype, {}}), {d.type.rank() - 1}), result.dtype)};
}

OpDef put_along_op() {
  OpDef op = new_op("put_along", "y[.., z] is the sum of the d[.., k] whose indices[.., k] is z",
                    {.count = 2, .floats = {0}, .integers = {1, "indices"}}, PutAlongAttrs{});
  op.infer = infer_put_along;
  op.rule = [](const OpCall& call) {
    const std::map<char, int64_t> sizes{{'z', call.attrs.as<PutAlongAttrs>().size}};
    return einsum("..k,..k->..z | z:no_flops", call, sizes).linear_in({0});
  };
  op.localize = localized<PutAlongAttrs>(
      [](PutAlongAttrs& attrs, const Shard& shard) { localize_part(attrs, shard.outputs[0].back()); });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const auto& attrs = call.attrs.as<PutAlongAttrs>();
    const TakeAlongAttrs back{.begin = attrs.begin, .total = attrs.whole()};
    return {call.apply("take_along", {call.d_outputs[0], call.inputs[1]}, back), Value()};
  };
  op.traits.ids = kPutAlongIds.described(1, [](const OpCall& call) { return call.attrs.as<PutAlongAttrs>().whole(); });
  op.emit = emit_put_along;
  op.traits.take_place = takes_begin(&PutAlongAttrs::size);
  op.kernel = float_kernel<float, PutAlongAttrs>(run_put_along);
  op.samples = {{{sample_of({4, 3}), ids_of({4, 3}, 6)}, PutAlongAttrs{6, 0, 6}},
                {{sample_of({2, 3, 7}), ids_of({2, 3, 7}, 5)}, PutAlongAttrs{5}},
                {{sample_of({6}), ids_of({6}, 4)}, PutAlongAttrs{4}},
                {{sample_of({5, 4}), ids_of({5, 4}, 8)}, PutAlongAttrs{4, 2, 8}}};
  return op;
}

}  // namespace

std::vector<OpDef> take_along_ops() { return {take_along_op(), put_along_op()}; }

}  // namespace partita
