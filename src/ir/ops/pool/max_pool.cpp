#include <cmath>
#include <limits>

#include "ir/ops/pool/pool.h"
#include "ir/ops/support.h"
#include "ir/ops/wide.h"
#include "ir/ops/window.h"

namespace partita {
namespace {

Spans max_pool_spans_of(const MaxPoolAttrs& attrs) {
  return make_spans("max_pool", attrs.stride, {1, 1}, attrs.pads, attrs.kernel);
}

std::vector<Type> infer_max_pool(const OpCall& call) {
  require_operands("max_pool", call, 1);
  require_float("max_pool", call);
  require_rank("max_pool", call, 0, 4);
  const Spans spans = max_pool_spans_of(call.attrs.as<MaxPoolAttrs>());
  require_pool_pads("max_pool", spans);
  const Type& x = call.inputs[0];
  const Shape shape{x.shape[0], x.shape[1], checked_outputs("max_pool", spans.h, x.shape[2]),
                    checked_outputs("max_pool", spans.w, x.shape[3])};
  return {Type{x.dtype, shape}, Type{DType::i32, shape}};
}

Attrs localize_max_pool(const Attrs& given, const Shard& shard) {
  MaxPoolAttrs attrs = given.as<MaxPoolAttrs>();
  const Spans spans = max_pool_spans_of(attrs);
  const auto& x = shard.inputs[0];
  std::tie(attrs.pads[0], attrs.pads[2]) = local_pads(spans.h, x[2], shard.outputs[0][2]);
  std::tie(attrs.pads[1], attrs.pads[3]) = local_pads(spans.w, x[3], shard.outputs[0][3]);
  return attrs;
}

std::vector<Value> grad_max_pool(const GradCall& call) {
  if (!call.d_outputs[0]) return {Value()};
  const auto& attrs = call.attrs.as<MaxPoolAttrs>();
  const Shape& x = call.inputs[0].shape();
  return {call.apply("max_pool_grad", {call.d_outputs[0], call.outputs[1]},
                     Attrs(MaxPoolGradAttrs{attrs.kernel, attrs.stride, attrs.pads, {x[2], x[3]}}))};
}

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
      if (position < 0 || value > best || (std::isnan(double(value)) && !std::isnan(double(best)))) {
        best = value;
        position = static_cast<int32_t>(p * spans.w.taps + q);
      }
    }
  }
  return {best, position};
}

template <class T>
void run_max_pool(const Spans& spans, Inputs in, Outputs out) {
  const Shape& x = in[0].type.shape;
  const Shape& y = out[0].type.shape;
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
}

OpDef max_pool_op() {
  OpDef op;
  op.name = "max_pool";
  op.traits.halves = {.results = 1, .follow = true};
  op.summary = "largest element of each window of x[n, c, h, w], and its position inside the window";
  op.attrs = Attrs(MaxPoolAttrs{});
  op.infer = infer_max_pool;
  op.rule = [](const OpCall& call) {
    const Spans spans = max_pool_spans_of(call.attrs.as<MaxPoolAttrs>());
    return einsum("nc[h][w]->nchw,nchw", call, {}, {spans.h.window(), spans.w.window()});
  };
  op.localize = localize_max_pool;
  op.grad = grad_max_pool;
  op.emit = emit_max_pool;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const Spans spans = max_pool_spans_of(attrs.as<MaxPoolAttrs>());
    for_float(in[0].type.dtype, [&](auto zero) { run_max_pool<decltype(zero)>(spans, in, out); });
  };
  op.samples = {
      {{sample_of({2, 3, 7, 6}, Fill::distinct)},
       Attrs(MaxPoolAttrs{.kernel = {3, 3}, .stride = {2, 2}, .pads = {1, 1, 1, 1}})},
      {{sample_of({3, 2, 6, 6}, Fill::distinct)}, Attrs(MaxPoolAttrs{.kernel = {2, 3}, .stride = {2, 1}})},
      {{sample_of({1, 2, 7, 4}, Fill::distinct)},
       Attrs(MaxPoolAttrs{.kernel = {3, 2}, .stride = {1, 3}, .pads = {2, 0, 0, 1}})},
  };
  return op;
}

constexpr auto kMaxPoolGrad = "max_pool_grad";

Spans max_pool_grad_spans_of(const MaxPoolGradAttrs& attrs) {
  return make_spans(kMaxPoolGrad, attrs.stride, {1, 1}, attrs.pads, attrs.kernel);
}

std::vector<Type> infer_max_pool_grad(const OpCall& call) {
  require_operands(kMaxPoolGrad, call, 2);
  require_float(kMaxPoolGrad, call);
  require_rank(kMaxPoolGrad, call, 0, 4);
  const auto& attrs = call.attrs.as<MaxPoolGradAttrs>();
  const Spans spans = max_pool_grad_spans_of(attrs);
  const Type& d_y = call.inputs[0];
  if (call.inputs[1] != Type{DType::i32, d_y.shape}) {
    reject(kMaxPoolGrad, "positions do not fit the gradient", print(call.inputs), "i32 positions of the same shape");
  }
  if (attrs.size.size() != 2) reject(kMaxPoolGrad, "size is not legal", to_text(attrs.size), "height and width");
  require_grad_rows(kMaxPoolGrad, spans.h, attrs.size[0], d_y.shape[2]);
  require_grad_rows(kMaxPoolGrad, spans.w, attrs.size[1], d_y.shape[3]);
  return {Type{d_y.dtype, Shape{d_y.shape[0], d_y.shape[1], attrs.size[0], attrs.size[1]}}};
}

Attrs localize_max_pool_grad(const Attrs& given, const Shard& shard) {
  MaxPoolGradAttrs attrs = given.as<MaxPoolGradAttrs>();
  const Spans spans = max_pool_grad_spans_of(attrs);
  const auto& d_y = shard.inputs[0];
  const auto& d_x = shard.outputs[0];
  localize_grad_window(attrs, spans, d_y, d_x);
  return attrs;
}

template <class T>
void run_max_pool_grad(const Spans& spans, Inputs in, const Tensor& out) {
  const Shape& y = in[0].type.shape;
  const Shape& x = out.type.shape;
  const T* d_y = in[0].as<T>();
  const int32_t* position = in[1].as<int32_t>();
  std::vector<Wide<T>> sums(x[2] * x[3]);
  T* d_x = out.as<T>();
  for (int64_t plane = 0; plane < y[0] * y[1]; ++plane) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t row = 0; row < y[2]; ++row) {
      for (int64_t column = 0; column < y[3]; ++column, ++d_y, ++position) {
        const int64_t at_row = row * spans.h.stride - spans.h.before + *position / spans.w.taps;
        const int64_t at_column = column * spans.w.stride - spans.w.before + *position % spans.w.taps;
        // A shard also holds windows whose largest element lies on a neighbour.
        if (at_row < 0 || at_row >= x[2] || at_column < 0 || at_column >= x[3]) continue;
        sums[at_row * x[3] + at_column] += *d_y;
      }
    }
    for (Wide<T> sum : sums) *d_x++ = T(sum);
  }
}

OpDef max_pool_grad_op() {
  OpDef op;
  op.name = kMaxPoolGrad;
  op.traits.halves = {.results = 1, .follow = true};
  op.summary = "gradient of max_pool: d_y goes to the positions that it saved";
  op.attrs = Attrs(MaxPoolGradAttrs{});
  op.infer = infer_max_pool_grad;
  op.rule = [](const OpCall& call) {
    const Spans spans = max_pool_grad_spans_of(call.attrs.as<MaxPoolGradAttrs>());
    const Window h = spans.h.window(true), w = spans.w.window(true);
    return einsum("nc<h><w>,nc<h><w>->nchw", call, {}, {h, w, h, w}).linear_in({0});
  };
  op.localize = localize_max_pool_grad;
  op.emit = emit_max_pool_grad;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    const Spans spans = max_pool_grad_spans_of(attrs.as<MaxPoolGradAttrs>());
    for_float(in[0].type.dtype, [&](auto zero) { run_max_pool_grad<decltype(zero)>(spans, in, out[0]); });
  };
  // Positions below the kernel size; without padding they are always inside.
  op.samples = {
      {{sample_of({2, 3, 3, 2}), ids_of({2, 3, 3, 2}, 9)},
       Attrs(MaxPoolGradAttrs{.kernel = {3, 3}, .stride = {2, 2}, .size = {7, 6}})},
      {{sample_of({3, 2, 3, 4}), ids_of({3, 2, 3, 4}, 6)},
       Attrs(MaxPoolGradAttrs{.kernel = {2, 3}, .stride = {2, 1}, .size = {6, 6}})},
      {{sample_of({1, 2, 7, 2}), ids_of({1, 2, 7, 2}, 2)},
       Attrs(MaxPoolGradAttrs{.kernel = {3, 2}, .stride = {1, 3}, .pads = {0, 0, 2, 1}, .size = {7, 4}})},
  };
  return op;
}

}  // namespace

std::vector<OpDef> max_pool_ops() { return {max_pool_op(), max_pool_grad_op()}; }

}  // namespace partita
