#include "ops/conv2d.h"

#include "ops/support.h"
#include "ops/wide.h"
#include "ops/window.h"

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

/// plane += the tap (p, q) of one filter over one input plane; the inner loop runs along a row.
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

}  // namespace

OpDef conv2d_op() {
  OpDef op;
  op.name = "conv2d";
  op.summary = "cross-correlation of x[n, g*c, h, w] with w[g*o, c, p, q], padded with zeros";
  op.attrs = Attrs(Conv2dAttrs{});
  op.infer = infer_conv2d;
  op.rule = rule_conv2d;
  op.localize = localize_conv2d;
  op.grad = grad_conv2d;
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

}  // namespace partita
