#include "ops/pool.h"
#include "ops/support.h"
#include "ops/wide.h"
#include "ops/window.h"

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

/// A shard holds every element under its windows, so what is outside its part is padding.
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

}  // namespace

OpDef avg_pool_op() {
  OpDef op;
  op.name = "avg_pool";
  op.summary = "mean of each window of x[n, c, h, w], with or without the padding";
  op.attrs = Attrs(AvgPoolAttrs{});
  op.infer = infer_avg_pool;
  op.rule = [](const OpCall& call) {
    const Spans spans = avg_pool_spans_of(call.attrs.as<AvgPoolAttrs>());
    return einsum("nc[h][w]->nchw", call, {}, {spans.h.window(), spans.w.window()}).linear_in({0});
  };
  op.localize = localize_avg_pool;
  op.grad = grad_avg_pool;
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

}  // namespace partita
