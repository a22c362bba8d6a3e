#include "ir/ops/pool/pool.h"
#include "ir/ops/support.h"
#include "ir/ops/wide.h"
#include "ir/ops/window.h"

namespace partita {
namespace {

Spans avg_pool_spans_of(const AvgPoolAttrs& attrs) {
  return make_spans("avg_pool", attrs.stride, {1, 1}, attrs.pads, attrs.kernel);
}

std::vector<Type> infer_avg_pool(const OpCall& call) {
  require_operands("avg_pool", call, 1);
  require_float("avg_pool", call);
  require_rank("avg_pool", call, 0, 4);
  const Spans spans = avg_pool_spans_of(call.attrs.as<AvgPoolAttrs>());
  require_pool_pads("avg_pool", spans);
  const Type& x = call.inputs[0];
  return {Type{x.dtype, Shape{x.shape[0], x.shape[1], checked_outputs("avg_pool", spans.h, x.shape[2]),
                              checked_outputs("avg_pool", spans.w, x.shape[3])}}};
}

/// Returns the attributes with the padding of a shard. A shard holds every element under its windows, so everything
/// outside its part is padding.
Attrs localize_avg_pool(const Attrs& given, const Shard& shard) {
  AvgPoolAttrs attrs = given.as<AvgPoolAttrs>();
  const Spans spans = avg_pool_spans_of(attrs);
  const auto& x = shard.inputs[0];
  std::tie(attrs.pads[0], attrs.pads[2]) = local_pads(spans.h, x[2], shard.outputs[0][2]);
  std::tie(attrs.pads[1], attrs.pads[3]) = local_pads(spans.w, x[3], shard.outputs[0][3]);
  return attrs;
}

std::vector<Value> grad_avg_pool(const GradCall& call) {
  const auto& attrs = call.attrs.as<AvgPoolAttrs>();
  const Shape& x = call.inputs[0].shape();
  return {call.apply("avg_pool_grad", {call.d_outputs[0]},
                     Attrs(AvgPoolGradAttrs{.kernel = attrs.kernel,
                                            .stride = attrs.stride,
                                            .pads = attrs.pads,
                                            .count_include_pad = attrs.count_include_pad,
                                            .size = {x[2], x[3]},
                                            .whole = {x[2], x[3]}}))};
}

template <class T>
void run_avg_pool(const AvgPoolAttrs& attrs, Inputs in, const Tensor& out) {
  const Spans spans = avg_pool_spans_of(attrs);
  const Shape& x = in[0].type.shape;
  const Shape& y = out.type.shape;
  T* mean = out.as<T>();
  for (int64_t plane = 0; plane < y[0] * y[1]; ++plane) {
    const T* from = in[0].as<T>() + plane * x[2] * x[3];
    for (int64_t row = 0; row < y[2]; ++row) {
      const Range rows = inside(spans.h, row, x[2]);
      for (int64_t column = 0; column < y[3]; ++column) {
        const Range columns = inside(spans.w, column, x[3]);
        Wide<T> sum = 0;
        for (int64_t i = rows.begin; i < rows.end; ++i) {
          for (int64_t j = columns.begin; j < columns.end; ++j) sum += from[i * x[3] + j];
        }
        const int64_t count = attrs.count_include_pad ? spans.h.taps * spans.w.taps : rows.count() * columns.count();
        *mean++ = T(sum / static_cast<Wide<T>>(count));
      }
    }
  }
}

OpDef avg_pool_op() {
  OpDef op;
  op.name = "avg_pool";
  op.traits.halves = {.results = 1, .follow = true};
  op.summary = "mean of each window of x[n, c, h, w], with or without the padding";
  op.attrs = Attrs(AvgPoolAttrs{});
  op.infer = infer_avg_pool;
  op.rule = [](const OpCall& call) {
    const Spans spans = avg_pool_spans_of(call.attrs.as<AvgPoolAttrs>());
    return einsum("nc[h][w]->nchw", call, {}, {spans.h.window(), spans.w.window()}).linear_in({0});
  };
  op.localize = localize_avg_pool;
  op.grad = grad_avg_pool;
  op.emit = emit_avg_pool;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    for_float(in[0].type.dtype, [&](auto zero) { run_avg_pool<decltype(zero)>(attrs.as<AvgPoolAttrs>(), in, out[0]); });
  };
  op.samples = {
      {{sample_of({2, 3, 7, 6})},
       Attrs(AvgPoolAttrs{.kernel = {3, 3}, .stride = {2, 2}, .pads = {1, 1, 1, 1}, .count_include_pad = false})},
      {{sample_of({3, 2, 6, 6})}, Attrs(AvgPoolAttrs{.kernel = {2, 3}, .stride = {2, 1}, .pads = {0, 2, 1, 0}})},
  };
  return op;
}

constexpr auto kAvgPoolGrad = "avg_pool_grad";

Spans avg_pool_grad_spans_of(const AvgPoolGradAttrs& attrs) {
  return make_spans(kAvgPoolGrad, attrs.stride, {1, 1}, attrs.pads, attrs.kernel);
}

std::vector<Type> infer_avg_pool_grad(const OpCall& call) {
  require_operands(kAvgPoolGrad, call, 1);
  require_float(kAvgPoolGrad, call);
  require_rank(kAvgPoolGrad, call, 0, 4);
  const auto& attrs = call.attrs.as<AvgPoolGradAttrs>();
  const Spans spans = avg_pool_grad_spans_of(attrs);
  const Type& d_y = call.inputs[0];
  const bool pairs = attrs.size.size() == 2 && attrs.begin.size() == 2 && attrs.whole.size() == 2;
  for (size_t d = 0; d < 2; ++d) {
    if (pairs && attrs.begin[d] >= 0 && attrs.size[d] <= attrs.whole[d] - attrs.begin[d]) continue;
    reject(kAvgPoolGrad, "local rows are not inside the whole",
           fmt::format("size {}, begin {}, whole {}", to_text(attrs.size), to_text(attrs.begin), to_text(attrs.whole)),
           "begin + size up to whole, height and width");
  }
  require_grad_rows(kAvgPoolGrad, spans.h, attrs.size[0], d_y.shape[2]);
  require_grad_rows(kAvgPoolGrad, spans.w, attrs.size[1], d_y.shape[3]);
  return {Type{d_y.dtype, Shape{d_y.shape[0], d_y.shape[1], attrs.size[0], attrs.size[1]}}};
}

Attrs localize_avg_pool_grad(const Attrs& given, const Shard& shard) {
  AvgPoolGradAttrs attrs = given.as<AvgPoolGradAttrs>();
  const Spans spans = avg_pool_grad_spans_of(attrs);
  const auto& d_y = shard.inputs[0];
  const auto& d_x = shard.outputs[0];
  localize_grad_window(attrs, spans, d_y, d_x);
  attrs.begin = {d_x[2].begin, d_x[3].begin};
  attrs.whole = {d_x[2].size, d_x[3].size};
  return attrs;
}

/// Returns the number of elements of window `output` that are not padding in the whole tensor. Windows are counted in a
/// part that begins at row or column `begin` of `whole`.
int64_t covered(const Span& span, int64_t output, int64_t begin, int64_t whole) {
  const int64_t first = begin + output * span.stride - span.before;
  return std::min(whole, first + span.taps) - std::max<int64_t>(0, first);
}

template <class T>
void run_avg_pool_grad(const AvgPoolGradAttrs& attrs, Inputs in, const Tensor& out) {
  const Spans spans = avg_pool_grad_spans_of(attrs);
  const Shape& y = in[0].type.shape;
  const Shape& x = out.type.shape;
  const T* d_y = in[0].as<T>();
  std::vector<Wide<T>> sums(x[2] * x[3]);
  T* d_x = out.as<T>();
  for (int64_t plane = 0; plane < y[0] * y[1]; ++plane) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t row = 0; row < y[2]; ++row) {
      const Range rows = inside(spans.h, row, x[2]);
      const int64_t high = covered(spans.h, row, attrs.begin[0], attrs.whole[0]);
      for (int64_t column = 0; column < y[3]; ++column) {
        const Range columns = inside(spans.w, column, x[3]);
        const int64_t wide = covered(spans.w, column, attrs.begin[1], attrs.whole[1]);
        const int64_t count = attrs.count_include_pad ? spans.h.taps * spans.w.taps : high * wide;
        const Wide<T> share = *d_y++ / static_cast<Wide<T>>(count);
        for (int64_t i = rows.begin; i < rows.end; ++i) {
          for (int64_t j = columns.begin; j < columns.end; ++j) sums[i * x[3] + j] += share;
        }
      }
    }
    for (Wide<T> sum : sums) *d_x++ = T(sum);
  }
}

OpDef avg_pool_grad_op() {
  OpDef op;
  op.name = kAvgPoolGrad;
  op.traits.halves = {.results = 1, .follow = true};
  op.summary = "gradient of avg_pool: each d_y is shared out over its window";
  op.attrs = Attrs(AvgPoolGradAttrs{});
  op.infer = infer_avg_pool_grad;
  op.rule = [](const OpCall& call) {
    const Spans spans = avg_pool_grad_spans_of(call.attrs.as<AvgPoolGradAttrs>());
    return einsum("nc<h><w>->nchw", call, {}, {spans.h.window(true), spans.w.window(true)}).linear_in({0});
  };
  op.localize = localize_avg_pool_grad;
  op.emit = emit_avg_pool_grad;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    for_float(in[0].type.dtype,
              [&](auto zero) { run_avg_pool_grad<decltype(zero)>(attrs.as<AvgPoolGradAttrs>(), in, out[0]); });
  };
  op.samples = {
      {{sample_of({2, 3, 4, 3})},
       Attrs(AvgPoolGradAttrs{.kernel = {3, 3},
                              .stride = {2, 2},
                              .pads = {1, 1, 1, 1},
                              .count_include_pad = false,
                              .size = {7, 6},
                              .whole = {7, 6}})},
      {{sample_of({3, 2, 3, 6})},
       Attrs(AvgPoolGradAttrs{
           .kernel = {2, 3}, .stride = {2, 1}, .pads = {0, 2, 1, 0}, .size = {6, 6}, .whole = {6, 6}})},
  };
  return op;
}

}  // namespace

std::vector<OpDef> avg_pool_ops() { return {avg_pool_op(), avg_pool_grad_op()}; }

}  // namespace partita
