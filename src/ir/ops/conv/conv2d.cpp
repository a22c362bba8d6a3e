#include "ir/ops/conv/conv2d.h"

#include "ir/ops/support.h"
#include "ir/ops/wide.h"
#include "ir/ops/window.h"

namespace partita {
namespace {

Spans conv2d_spans_of(const Conv2dAttrs& attrs, const Shape& weight) {
  return make_spans("conv2d", attrs.stride, attrs.dilation, attrs.pads, {weight[2], weight[3]});
}

std::vector<Type> infer_conv2d(const OpCall& call) {
  require_operands("conv2d", call, 2);
  require_same_dtype("conv2d", call);
  require_float("conv2d", call);
  require_rank("conv2d", call, 0, 4);
  require_rank("conv2d", call, 1, 4);
  const auto& attrs = call.attrs.as<Conv2dAttrs>();
  const Shape& x = call.inputs[0].shape;
  const Shape& weight = call.inputs[1].shape;
  const int64_t groups = attrs.groups;
  if (groups < 1 || x[1] % groups != 0 || weight[0] % groups != 0 || x[1] / groups != weight[1]) {
    reject("conv2d", "channels do not fit", fmt::format("{} and {} with {} groups", print(x), print(weight), groups),
           "[n, g*c, h, w] and [g*o, c, p, q]");
  }
  const Spans spans = conv2d_spans_of(attrs, weight);
  return {Type{call.inputs[0].dtype, Shape{x[0], weight[0], checked_outputs("conv2d", spans.h, x[2]),
                                           checked_outputs("conv2d", spans.w, x[3])}}};
}

ShardingRule rule_conv2d(const OpCall& call) {
  const auto& attrs = call.attrs.as<Conv2dAttrs>();
  const Spans spans = conv2d_spans_of(attrs, call.inputs[1].shape);
  return einsum("n(gc)[h][w],(go)cpq->n(go)hw | p:whole q:whole", call, {{'g', attrs.groups}},
                {spans.h.window(), spans.w.window()})
      .linear_in({0})
      .linear_in({1});
}

Attrs localize_conv2d(const Attrs& given, const Shard& shard) {
  Conv2dAttrs attrs = given.as<Conv2dAttrs>();
  const auto& x = shard.inputs[0];
  const auto& weight = shard.inputs[1];
  const Spans spans = conv2d_spans_of(attrs, {weight[0].size, weight[1].size, weight[2].size, weight[3].size});
  std::tie(attrs.pads[0], attrs.pads[2]) = local_pads(spans.h, x[2], shard.outputs[0][2]);
  std::tie(attrs.pads[1], attrs.pads[3]) = local_pads(spans.w, x[3], shard.outputs[0][3]);
  if (weight[1].count() > 0) attrs.groups = x[1].count() / weight[1].count();
  return attrs;
}

std::vector<Value> grad_conv2d(const GradCall& call) {
  const auto& attrs = call.attrs.as<Conv2dAttrs>();
  const Value x = call.inputs[0], weight = call.inputs[1], d_y = call.d_outputs[0];
  const Shape size = x.shape(), kernel = weight.shape();  // copies: new nodes move the types
  return {call.apply(
              "conv2d_grad_input", {d_y, weight},
              Attrs(Conv2dGradInputAttrs{attrs.stride, attrs.dilation, attrs.pads, attrs.groups, {size[2], size[3]}})),
          call.apply("conv2d_grad_filter", {x, d_y},
                     Attrs(Conv2dGradFilterAttrs{
                         attrs.stride, attrs.dilation, attrs.pads, attrs.groups, {kernel[2], kernel[3]}}))};
}

/// Adds `factor`, the tap (p, q) of one filter, times the input elements under it to the output plane `plane`. The
/// inner loop runs along a row.
template <class T>
void add_tap_conv2d(const Spans& spans, const T* x, int64_t height, int64_t width, Wide<T> factor, int64_t p, int64_t q,
                    Wide<T>* plane, int64_t rows, int64_t columns) {
  const auto& [h, w] = spans;
  const int64_t first = w.first_output(q), last = w.last_output(q, width, columns);
  const int64_t bottom = h.last_output(p, height, rows);
  for (int64_t row = h.first_output(p); row < bottom; ++row) {
    const T* from = x + (row * h.stride - h.before + p * h.dilation) * width;
    const int64_t offset = q * w.dilation - w.before;
    Wide<T>* to = plane + row * columns;
    if (w.stride == 1) {
      for (int64_t column = first; column < last; ++column) to[column] += factor * from[column + offset];
    } else {
      for (int64_t column = first; column < last; ++column) {
        to[column] += factor * from[column * w.stride + offset];
      }
    }
  }
}

template <class T>
void run_conv2d(const Conv2dAttrs& attrs, Inputs in, const Tensor& out) {
  const Shape& x_shape = in[0].type.shape;
  const Shape& w_shape = in[1].type.shape;
  const Shape& y_shape = out.type.shape;
  const Spans spans = conv2d_spans_of(attrs, w_shape);
  const int64_t per_group = w_shape[1], taps = w_shape[2] * w_shape[3];
  const int64_t outs_per_group = w_shape[0] / attrs.groups;
  const int64_t input_plane = x_shape[2] * x_shape[3], output_plane = y_shape[2] * y_shape[3];
  std::vector<Wide<T>> plane(output_plane);
  T* y = out.as<T>();
  for (int64_t n = 0; n < y_shape[0]; ++n) {
    for (int64_t o = 0; o < y_shape[1]; ++o) {
      std::fill(plane.begin(), plane.end(), 0);
      for (int64_t c = 0; c < per_group; ++c) {
        const int64_t channel = o / outs_per_group * per_group + c;
        const T* x = in[0].as<T>() + (n * x_shape[1] + channel) * input_plane;
        const T* weight = in[1].as<T>() + (o * per_group + c) * taps;
        for (int64_t tap = 0; tap < taps; ++tap) {
          add_tap_conv2d<T>(spans, x, x_shape[2], x_shape[3], weight[tap], tap / w_shape[3], tap % w_shape[3],
                            plane.data(), y_shape[2], y_shape[3]);
        }
      }
      for (int64_t i = 0; i < output_plane; ++i) *y++ = T(plane[i]);
    }
  }
}

OpDef conv2d_op() {
  OpDef op;
  op.name = "conv2d";
  op.traits.halves = {.operands = {0, 1}, .results = 1};
  op.summary = "cross-correlation of x[n, g*c, h, w] with w[g*o, c, p, q], padded with zeros";
  op.attrs = Attrs(Conv2dAttrs{});
  op.infer = infer_conv2d;
  op.rule = rule_conv2d;
  op.localize = localize_conv2d;
  op.grad = grad_conv2d;
  op.emit = emit_conv2d;
  op.flops_per_point = 2;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    for_float(in[0].type.dtype, [&](auto zero) { run_conv2d<decltype(zero)>(attrs.as<Conv2dAttrs>(), in, out[0]); });
  };
  op.samples = {
      {{sample_of({2, 3, 7, 6}), sample_of({4, 3, 3, 3})}, Attrs(Conv2dAttrs{.pads = {1, 1, 1, 1}})},
      {{sample_of({2, 4, 7, 6}), sample_of({6, 2, 3, 2})},
       Attrs(Conv2dAttrs{.stride = {2, 1}, .dilation = {1, 2}, .pads = {1, 0, 0, 2}, .groups = 2})},
      {{sample_of({3, 2, 6, 7}), sample_of({2, 2, 1, 1})}, Attrs(Conv2dAttrs{.stride = {2, 3}})},
      {{sample_of({1, 4, 6, 6}), sample_of({4, 1, 5, 3})}, Attrs(Conv2dAttrs{.pads = {2, 1, 2, 1}, .groups = 4})},
  };
  return op;
}

Spans conv2d_grad_input_spans_of(const Conv2dGradInputAttrs& attrs, const Shape& weight) {
  return make_spans("conv2d_grad_input", attrs.stride, attrs.dilation, attrs.pads, {weight[2], weight[3]});
}

std::vector<Type> infer_conv2d_grad_input(const OpCall& call) {
  constexpr auto kOp = "conv2d_grad_input";
  require_operands(kOp, call, 2);
  require_same_dtype(kOp, call);
  require_float(kOp, call);
  require_rank(kOp, call, 0, 4);
  require_rank(kOp, call, 1, 4);
  const auto& attrs = call.attrs.as<Conv2dGradInputAttrs>();
  const Shape& d_y = call.inputs[0].shape;
  const Shape& weight = call.inputs[1].shape;
  if (attrs.groups < 1 || weight[0] % attrs.groups != 0 || d_y[1] != weight[0]) {
    reject(kOp, "channels do not fit", fmt::format("{} and {} with {} groups", print(d_y), print(weight), attrs.groups),
           "[n, g*o, h, w] and [g*o, c, p, q]");
  }
  if (attrs.size.size() != 2) reject(kOp, "size is not legal", to_text(attrs.size), "height and width");
  const Spans spans = conv2d_grad_input_spans_of(attrs, weight);
  require_grad_rows(kOp, spans.h, attrs.size[0], d_y[2]);
  require_grad_rows(kOp, spans.w, attrs.size[1], d_y[3]);
  return {Type{call.inputs[0].dtype, Shape{d_y[0], weight[1] * attrs.groups, attrs.size[0], attrs.size[1]}}};
}

ShardingRule rule_conv2d_grad_input(const OpCall& call) {
  const auto& attrs = call.attrs.as<Conv2dGradInputAttrs>();
  const Spans spans = conv2d_grad_input_spans_of(attrs, call.inputs[1].shape);
  return einsum("n(go)<h><w>,(go)cpq->n(gc)hw | p:whole q:whole", call, {{'g', attrs.groups}},
                {spans.h.window(true), spans.w.window(true)})
      .linear_in({0})
      .linear_in({1});
}

Attrs localize_conv2d_grad_input(const Attrs& given, const Shard& shard) {
  Conv2dGradInputAttrs attrs = given.as<Conv2dGradInputAttrs>();
  const auto& d_y = shard.inputs[0];
  const auto& weight = shard.inputs[1];
  const auto& d_x = shard.outputs[0];
  const Spans spans =
      conv2d_grad_input_spans_of(attrs, {weight[0].size, weight[1].size, weight[2].size, weight[3].size});
  localize_grad_window(attrs, spans, d_y, d_x);
  if (weight[1].count() > 0) attrs.groups = d_x[1].count() / weight[1].count();
  return attrs;
}

/// Adds what one output plane contributes through the tap (p, q) of one filter to the input plane `plane`.
template <class T>
void add_tap_conv2d_grad_input(const Spans& spans, const T* d_y, int64_t rows, int64_t columns, Wide<T> factor,
                               int64_t p, int64_t q, Wide<T>* plane, int64_t height, int64_t width) {
  const auto& [h, w] = spans;
  const int64_t first = w.first_output(q), last = w.last_output(q, width, columns);
  const int64_t bottom = h.last_output(p, height, rows);
  const int64_t offset = q * w.dilation - w.before;
  for (int64_t row = h.first_output(p); row < bottom; ++row) {
    const T* from = d_y + row * columns;
    Wide<T>* to = plane + (row * h.stride - h.before + p * h.dilation) * width;
    if (w.stride == 1) {
      for (int64_t column = first; column < last; ++column) to[column + offset] += factor * from[column];
    } else {
      for (int64_t column = first; column < last; ++column) {
        to[column * w.stride + offset] += factor * from[column];
      }
    }
  }
}

template <class T>
void run_conv2d_grad_input(const Conv2dGradInputAttrs& attrs, Inputs in, const Tensor& out) {
  const Shape& y_shape = in[0].type.shape;
  const Shape& w_shape = in[1].type.shape;
  const Shape& x_shape = out.type.shape;
  const Spans spans = conv2d_grad_input_spans_of(attrs, w_shape);
  const int64_t per_group = w_shape[1], taps = w_shape[2] * w_shape[3];
  const int64_t outs_per_group = w_shape[0] / attrs.groups;
  const int64_t input_plane = x_shape[2] * x_shape[3], output_plane = y_shape[2] * y_shape[3];
  std::vector<Wide<T>> plane(input_plane);
  T* d_x = out.as<T>();
  for (int64_t n = 0; n < x_shape[0]; ++n) {
    for (int64_t channel = 0; channel < x_shape[1]; ++channel) {
      std::fill(plane.begin(), plane.end(), 0);
      const int64_t group = channel / per_group, c = channel % per_group;
      for (int64_t o = group * outs_per_group; o < (group + 1) * outs_per_group; ++o) {
        const T* d_y = in[0].as<T>() + (n * y_shape[1] + o) * output_plane;
        const T* weight = in[1].as<T>() + (o * per_group + c) * taps;
        for (int64_t tap = 0; tap < taps; ++tap) {
          add_tap_conv2d_grad_input<T>(spans, d_y, y_shape[2], y_shape[3], weight[tap], tap / w_shape[3],
                                       tap % w_shape[3], plane.data(), x_shape[2], x_shape[3]);
        }
      }
      for (int64_t i = 0; i < input_plane; ++i) *d_x++ = T(plane[i]);
    }
  }
}

OpDef conv2d_grad_input_op() {
  OpDef op;
  op.name = "conv2d_grad_input";
  op.traits.halves = {.operands = {0, 1}, .results = 1};
  op.summary = "gradient of conv2d with respect to x, from d_y and w";
  op.attrs = Attrs(Conv2dGradInputAttrs{});
  op.infer = infer_conv2d_grad_input;
  op.rule = rule_conv2d_grad_input;
  op.localize = localize_conv2d_grad_input;
  op.emit = emit_conv2d_grad_input;
  op.flops_per_point = 2;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    for_float(in[0].type.dtype,
              [&](auto zero) { run_conv2d_grad_input<decltype(zero)>(attrs.as<Conv2dGradInputAttrs>(), in, out[0]); });
  };
  op.samples = {
      {{sample_of({2, 4, 7, 6}), sample_of({4, 3, 3, 3})},
       Attrs(Conv2dGradInputAttrs{.pads = {1, 1, 1, 1}, .size = {7, 6}})},
      {{sample_of({2, 6, 3, 6}), sample_of({6, 2, 3, 2})},
       Attrs(Conv2dGradInputAttrs{
           .stride = {2, 1}, .dilation = {1, 2}, .pads = {1, 0, 0, 2}, .groups = 2, .size = {7, 6}})},
      {{sample_of({3, 2, 3, 3}), sample_of({2, 2, 1, 1})},
       Attrs(Conv2dGradInputAttrs{.stride = {2, 3}, .size = {6, 7}})},
  };
  return op;
}

Spans conv2d_grad_filter_spans_of(const Conv2dGradFilterAttrs& attrs) {
  return make_spans("conv2d_grad_filter", attrs.stride, attrs.dilation, attrs.pads, attrs.kernel);
}

std::vector<Type> infer_conv2d_grad_filter(const OpCall& call) {
  constexpr auto kOp = "conv2d_grad_filter";
  require_operands(kOp, call, 2);
  require_same_dtype(kOp, call);
  require_float(kOp, call);
  require_rank(kOp, call, 0, 4);
  require_rank(kOp, call, 1, 4);
  const auto& attrs = call.attrs.as<Conv2dGradFilterAttrs>();
  const Shape& x = call.inputs[0].shape;
  const Shape& d_y = call.inputs[1].shape;
  if (attrs.groups < 1 || x[0] != d_y[0] || x[1] % attrs.groups != 0 || d_y[1] % attrs.groups != 0) {
    reject(kOp, "operands do not fit", fmt::format("{} and {} with {} groups", print(x), print(d_y), attrs.groups),
           "[n, g*c, h, w] and [n, g*o, h, w]");
  }
  const Spans spans = conv2d_grad_filter_spans_of(attrs);
  require_grad_rows(kOp, spans.h, x[2], d_y[2]);
  require_grad_rows(kOp, spans.w, x[3], d_y[3]);
  return {Type{call.inputs[0].dtype, Shape{d_y[1], x[1] / attrs.groups, attrs.kernel[0], attrs.kernel[1]}}};
}

ShardingRule rule_conv2d_grad_filter(const OpCall& call) {
  const auto& attrs = call.attrs.as<Conv2dGradFilterAttrs>();
  const Spans spans = conv2d_grad_filter_spans_of(attrs);
  return einsum("n(gc)[h][w],n(go)hw->(go)cpq | p:whole q:whole", call, {{'g', attrs.groups}},
                {spans.h.window(), spans.w.window()})
      .linear_in({0})
      .linear_in({1});
}

Attrs localize_conv2d_grad_filter(const Attrs& given, const Shard& shard) {
  Conv2dGradFilterAttrs attrs = given.as<Conv2dGradFilterAttrs>();
  const auto& x = shard.inputs[0];
  const auto& d_y = shard.inputs[1];
  const auto& d_weight = shard.outputs[0];
  const Spans spans = conv2d_grad_filter_spans_of(attrs);
  std::tie(attrs.pads[0], attrs.pads[2]) = local_pads(spans.h, x[2], d_y[2]);
  std::tie(attrs.pads[1], attrs.pads[3]) = local_pads(spans.w, x[3], d_y[3]);
  if (d_weight[1].count() > 0) attrs.groups = x[1].count() / d_weight[1].count();
  return attrs;
}

/// Adds x * d_y for one pair of planes and one tap to `row_sums`, per column. The caller sums the row, so that the
/// inner loop has no chain of dependent additions.
template <class T>
void add_products(const Spans& spans, const T* x, int64_t height, int64_t width, const T* d_y, int64_t rows,
                  int64_t columns, int64_t p, int64_t q, double* row_sums) {
  const auto& [h, w] = spans;
  const int64_t first = w.first_output(q), last = w.last_output(q, width, columns);
  const int64_t bottom = h.last_output(p, height, rows);
  const int64_t offset = q * w.dilation - w.before;
  for (int64_t row = h.first_output(p); row < bottom; ++row) {
    const T* left = x + (row * h.stride - h.before + p * h.dilation) * width;
    const T* right = d_y + row * columns;
    if (w.stride == 1) {
      for (int64_t column = first; column < last; ++column) {
        row_sums[column] += double(left[column + offset]) * double(right[column]);
      }
    } else {
      for (int64_t column = first; column < last; ++column) {
        row_sums[column] += double(left[column * w.stride + offset]) * double(right[column]);
      }
    }
  }
}

template <class T>
void run_conv2d_grad_filter(const Conv2dGradFilterAttrs& attrs, Inputs in, const Tensor& out) {
  const Shape& x_shape = in[0].type.shape;
  const Shape& y_shape = in[1].type.shape;
  const Shape& w_shape = out.type.shape;
  const Spans spans = conv2d_grad_filter_spans_of(attrs);
  const int64_t per_group = w_shape[1], outs_per_group = w_shape[0] / attrs.groups;
  const int64_t taps = w_shape[2] * w_shape[3];
  const int64_t input_plane = x_shape[2] * x_shape[3], output_plane = y_shape[2] * y_shape[3];
  std::vector<double> row_sums(y_shape[3]);
  T* d_weight = out.as<T>();
  for (int64_t o = 0; o < w_shape[0]; ++o) {
    for (int64_t c = 0; c < per_group; ++c) {
      const int64_t channel = o / outs_per_group * per_group + c;
      for (int64_t tap = 0; tap < taps; ++tap) {
        std::fill(row_sums.begin(), row_sums.end(), 0);
        for (int64_t n = 0; n < x_shape[0]; ++n) {
          add_products<T>(spans, in[0].as<T>() + (n * x_shape[1] + channel) * input_plane, x_shape[2], x_shape[3],
                          in[1].as<T>() + (n * y_shape[1] + o) * output_plane, y_shape[2], y_shape[3], tap / w_shape[3],
                          tap % w_shape[3], row_sums.data());
        }
        double sum = 0;
        for (double value : row_sums) sum += value;
        *d_weight++ = T(sum);
      }
    }
  }
}

OpDef conv2d_grad_filter_op() {
  OpDef op;
  op.name = "conv2d_grad_filter";
  op.traits.halves = {.operands = {0, 1}, .results = 1};
  op.summary = "gradient of conv2d with respect to w, from x and d_y";
  op.attrs = Attrs(Conv2dGradFilterAttrs{});
  op.infer = infer_conv2d_grad_filter;
  op.rule = rule_conv2d_grad_filter;
  op.localize = localize_conv2d_grad_filter;
  op.emit = emit_conv2d_grad_filter;
  op.flops_per_point = 2;
  op.kernel = [](const Attrs& attrs, Inputs in, Outputs out) {
    for_float(in[0].type.dtype, [&](auto zero) {
      run_conv2d_grad_filter<decltype(zero)>(attrs.as<Conv2dGradFilterAttrs>(), in, out[0]);
    });
  };
  op.samples = {
      {{sample_of({2, 3, 7, 6}), sample_of({2, 4, 7, 6})},
       Attrs(Conv2dGradFilterAttrs{.pads = {1, 1, 1, 1}, .kernel = {3, 3}})},
      {{sample_of({2, 4, 7, 6}), sample_of({2, 6, 3, 6})},
       Attrs(Conv2dGradFilterAttrs{
           .stride = {2, 1}, .dilation = {1, 2}, .pads = {1, 0, 0, 2}, .groups = 2, .kernel = {3, 2}})},
  };
  return op;
}

}  // namespace

std::vector<OpDef> conv2d_ops() { return {conv2d_op(), conv2d_grad_input_op(), conv2d_grad_filter_op()}; }

}  // namespace partita
