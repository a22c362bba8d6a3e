#include <cmath>

#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/kernels.h"
#include "ir/ops/pool/pool.h"

namespace partita {
namespace {

constexpr auto kMaxPool = "max_pool";
constexpr auto kMaxPoolGrad = "max_pool_grad";

/// Returns the largest element of one window and its row-major position in the window, or 0 and -1 if the window has
/// padding only. The first of equal ones wins; a NaN beats all.
template <class T>
std::pair<T, int32_t> largest_max_pool(const Spans& spans, const T* x, int64_t height, int64_t width, int64_t row,
                                       int64_t column) {
  T best{};
  int32_t position = -1;
  for (int64_t p = 0; p < spans.h.taps; ++p) {
    const int64_t y = row * spans.h.stride - spans.h.before + p;
    if (y < 0 || y >= height) continue;
    for (int64_t q = 0; q < spans.w.taps; ++q) {
      const int64_t z = column * spans.w.stride - spans.w.before + q;
      if (z < 0 || z >= width) continue;
      const T value = x[y * width + z];
      if (position < 0 || value > best || (std::isnan(value) && !std::isnan(best))) {
        best = value;
        position = static_cast<int32_t>(p * spans.w.taps + q);
      }
    }
  }
  return {best, position};
}

constexpr auto run_max_pool = []<class T>(const MaxPoolAttrs& attrs, Inputs in, Outputs out) {
  const Spans spans = pool_spans(kMaxPool, attrs);
  const Shape &x = in[0].type.shape, &y = out[0].type.shape;
  T* value = out[0].as<T>();
  int32_t* position = out[1].as<int32_t>();
  for (int64_t plane = 0; plane < y[0] * y[1]; ++plane) {
    const T* from = in[0].as<T>() + plane * x[2] * x[3];
    for (int64_t row = 0; row < y[2]; ++row) {
      for (int64_t column = 0; column < y[3]; ++column) {
        std::tie(*value++, *position++) = largest_max_pool<T>(spans, from, x[2], x[3], row, column);
      }
    }
  }
};

OpDef max_pool_op() {
  OpDef op = pool_op<MaxPoolAttrs>(
      kMaxPool, "largest element of each window of x[n, c, h, w], and its position inside the window", "nchw,nchw");
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const Type& x = call.inputs[0];
    const Shape shape = pooled_shape(kMaxPool, call.attrs.as<MaxPoolAttrs>(), x.shape);
    return {{x.dtype, shape}, {DType::i32, shape}};
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    if (!call.d_outputs[0]) return {Value()};
    const Shape& x = call.inputs[0].shape();
    return {call.apply(kMaxPoolGrad, {call.d_outputs[0], call.outputs[1]},
                       MaxPoolGradAttrs{call.attrs.as<MaxPoolAttrs>(), {x[2], x[3]}})};
  };
  op.emit = emit_max_pool;
  op.kernel = float_kernel<float, MaxPoolAttrs>(run_max_pool);
  op.samples = {
      {{sample_of({2, 3, 7, 6}, Fill::distinct)},
       MaxPoolAttrs{.kernel = {3, 3}, .stride = {2, 2}, .pads = {1, 1, 1, 1}}},
      {{sample_of({3, 2, 6, 6}, Fill::distinct)}, MaxPoolAttrs{.kernel = {2, 3}, .stride = {2, 1}}},
      {{sample_of({1, 2, 7, 4}, Fill::distinct)},
       MaxPoolAttrs{.kernel = {3, 2}, .stride = {1, 3}, .pads = {2, 0, 0, 1}}},
  };
  return op;
}

std::vector<Type> infer_max_pool_grad(const OpCall& call) {
  const auto& attrs = call.attrs.as<MaxPoolGradAttrs>();
  if (call.inputs[1] != Type{DType::i32, call.inputs[0].shape}) {
    reject(kMaxPoolGrad, "positions do not fit the gradient", print(call.inputs), "i32 positions of the same shape");
  }
  return {pool_grad_type(kMaxPoolGrad, attrs, attrs.size, call.inputs[0])};
}

constexpr auto run_max_pool_grad = []<class T>(const MaxPoolGradAttrs& attrs, Inputs in, Outputs out) {
  const Spans spans = pool_spans(kMaxPoolGrad, attrs);
  const Shape &y = in[0].type.shape, &x = out[0].type.shape;
  const T* d_y = in[0].as<T>();
  const int32_t* position = in[1].as<int32_t>();
  T* sums = out[0].as<T>();
  std::fill_n(sums, out[0].type.elements(), T{});
  for (int64_t plane = 0; plane < y[0] * y[1]; ++plane, sums += x[2] * x[3]) {
    for (int64_t row = 0; row < y[2]; ++row) {
      for (int64_t column = 0; column < y[3]; ++column, ++d_y, ++position) {
        const int64_t at_row = row * spans.h.stride - spans.h.before + *position / spans.w.taps;
        const int64_t at_column = column * spans.w.stride - spans.w.before + *position % spans.w.taps;
        // A shard also holds windows whose largest element lies on a neighbour.
        if (at_row < 0 || at_row >= x[2] || at_column < 0 || at_column >= x[3]) continue;
        sums[at_row * x[3] + at_column] += *d_y;
      }
    }
  }
};

/// Returns a number as an index.
Value index_of(const BuildCall& call, int64_t value) {
  return constant(call.builder, static_cast<double>(value), Type{DType::i64, {}});
}

/// Returns where `places` along one dimension are inside [0, size), and the nearest places that are.
std::pair<Value, Value> clamped_places(const GradCall& call, Value places, int64_t size) {
  const Value low = call.apply("maximum", {places, index_of(call, 0)});
  const Value near = call.apply("minimum", {low, index_of(call, std::max<int64_t>(1, size) - 1)});
  return {call.apply("equal", {near, places}), near};
}

/// Returns the gradient of d_y: the elements of d at the saved positions, 0 for positions outside of the tensor.
std::vector<Value> grad_max_pool_grad(const GradCall& call) {
  const Spans spans = pool_spans(kMaxPoolGrad, call.attrs.as<MaxPoolGradAttrs>());
  const Value d = call.d_outputs[0];
  const Shape x = d.shape(), y = call.inputs[0].shape();
  const Value position = call.apply("cast", {call.inputs[1]}, CastAttrs{.dtype = DType::i64});
  // Returns tap + window * stride - before along a dimension.
  const auto places = [&](const char* part, const WindowSpan& span, int64_t axis) {
    Shape line(4, 1);
    line[axis] = y[axis];
    const Value window = call.apply("iota", {}, IotaAttrs{.axis = axis, .dtype = DType::i64, .shape = line});
    const Value first =
        call.apply("sub", {call.apply("mul", {window, index_of(call, span.stride)}), index_of(call, span.before)});
    return call.apply("add", {call.apply(part, {position, index_of(call, spans.w.taps)}), first});
  };
  const auto [has_row, row] = clamped_places(call, places("floor_div", spans.h, 2), x[2]);
  const auto [has_column, column] = clamped_places(call, places("remainder", spans.w, 3), x[3]);
  const Value place = call.apply("add", {call.apply("mul", {row, index_of(call, x[3])}), column});
  const Shape lines{x[0], x[1], x[2] * x[3]}, windows{y[0], y[1], y[2] * y[3]};
  const Value taken = call.apply("take_along", {call.apply("reshape", {d}, ReshapeAttrs{.shape = lines}),
                                                call.apply("reshape", {place}, ReshapeAttrs{.shape = windows})});
  const Value inside = call.apply("logical_and", {has_row, has_column});
  const Value zero = constant(call.builder, 0, Type{d.dtype(), {}});
  return {call.apply("select", {inside, call.apply("reshape", {taken}, ReshapeAttrs{.shape = y}), zero}), Value()};
}

OpDef max_pool_grad_op() {
  OpDef op =
      pool_grad_op<MaxPoolGradAttrs>(kMaxPoolGrad, "gradient of max_pool: d_y goes to the positions that it saved", 2);
  op.infer = infer_max_pool_grad;
  op.grad = grad_max_pool_grad;
  op.emit = emit_max_pool_grad;
  op.kernel = float_kernel<float, MaxPoolGradAttrs>(run_max_pool_grad);
  // Positions below the kernel size; without padding they are always inside.
  op.samples = {
      {{sample_of({2, 3, 3, 2}), ids_of({2, 3, 3, 2}, 9)},
       MaxPoolGradAttrs{{.kernel = {3, 3}, .stride = {2, 2}}, {7, 6}}},
      {{sample_of({3, 2, 3, 4}), ids_of({3, 2, 3, 4}, 6)},
       MaxPoolGradAttrs{{.kernel = {2, 3}, .stride = {2, 1}}, {6, 6}}},
      {{sample_of({1, 2, 7, 2}), ids_of({1, 2, 7, 2}, 2)},
       MaxPoolGradAttrs{{.kernel = {3, 2}, .stride = {1, 3}, .pads = {0, 0, 2, 1}}, {7, 4}}},
  };
  return op;
}

}  // namespace

std::vector<OpDef> max_pool_ops() { return {max_pool_op(), max_pool_grad_op()}; }

}  // namespace partita
