#include "ir/ops/conv/conv2d.h"

#include <numeric>

#include "ir/ops/kernels.h"
#include "ir/ops/window.h"

namespace partita {
namespace {

constexpr auto kConv2d = "conv2d";
constexpr auto kConv2dGradInput = "conv2d_grad_input";
constexpr auto kConv2dGradFilter = "conv2d_grad_filter";

Spans conv2d_spans(std::string_view op, const Conv2dAttrs& attrs, const Shape& weight) {
  return make_spans(op, attrs.stride, attrs.dilation, attrs.pads, {weight[2], weight[3]});
}
Spans conv2d_spans(const Conv2dGradFilterAttrs& attrs) {
  return make_spans(kConv2dGradFilter, attrs.stride, attrs.dilation, attrs.pads, attrs.kernel);
}
Shape whole_shape(const Box& box) { return {box[0].size, box[1].size, box[2].size, box[3].size}; }

/// Returns the rule of `text`, with g groups and a window over each of the two spatial dimensions.
ShardingRule conv2d_rule(const char* text, const OpCall& call, int64_t groups, const Spans& spans, bool transposed) {
  const std::vector<Window> windows{spans.h.window(transposed), spans.w.window(transposed)};
  return einsum(text, call, {{'g', groups}}, windows).linear_in({0}).linear_in({1});
}

/// A case that all three ops are tested on.
struct Conv2dCase {
  Shape x, weight;
  Conv2dAttrs attrs = {};

  SampleInput d_y() const {
    return sample_of(checked_shape(kConv2d, conv2d_spans(kConv2d, attrs, weight), x, weight[0]));
  }
};
std::vector<Sample> conv2d_samples(Sample (*sample)(const Conv2dCase&)) {
  const std::vector<Conv2dCase> cases{
      {{2, 3, 7, 6}, {4, 3, 3, 3}, {.pads = {1, 1, 1, 1}}},
      {{2, 4, 7, 6}, {6, 2, 3, 2}, {.stride = {2, 1}, .dilation = {1, 2}, .pads = {1, 0, 0, 2}, .groups = 2}},
      {{3, 2, 6, 7}, {2, 2, 1, 1}, {.stride = {2, 3}}},
      {{1, 4, 6, 6}, {4, 1, 5, 3}, {.pads = {2, 1, 2, 1}, .groups = 4}}};
  std::vector<Sample> samples;
  for (const Conv2dCase& one : cases) samples.push_back(sample(one));
  return samples;
}

/// Returns an op with what the three share.
OpDef conv2d_family_op(const char* name, const char* summary, const Attrs& attrs) {
  OpDef op = new_op(name, summary, {.count = 2, .floats = {0}, .same_dtype = true, .ranks = {{0, 4}, {1, 4}}}, attrs,
                    {.operands = {0, 1}, .results = 1});
  op.flops_per_point = 2;
  return op;
}

/// Calls fn(element of x, element of y, column of y) for the elements of two planes, those of x[.., h, w] under the tap
/// of the window of each of y[.., h, w]. The inner loop runs along a row of y.
template <class Fn>
void for_pairs_under_tap(const Spans& spans, int64_t tap, const Shape& x, const Shape& y, Fn&& fn) {
  const auto& [h, w] = spans;
  const int64_t p = tap / w.taps, q = tap % w.taps;
  const int64_t first = w.first_output(q), last = w.last_output(q, x[3], y[3]);
  const int64_t bottom = h.last_output(p, x[2], y[2]);
  for (int64_t row = h.first_output(p); row < bottom; ++row) {
    const int64_t from = (row * h.stride - h.before + p * h.dilation) * x[3] + q * w.dilation - w.before;
    const int64_t to = row * y[3];
    if (w.stride == 1) {
      for (int64_t column = first; column < last; ++column) fn(from + column, to + column, column);
    } else {
      for (int64_t column = first; column < last; ++column) fn(from + column * w.stride, to + column, column);
    }
  }
}

/// Returns the first element of a plane of x[n, c, h, w].
int64_t plane_at(const Shape& x, int64_t n, int64_t channel) { return (n * x[1] + channel) * x[2] * x[3]; }

constexpr auto run_conv2d = []<class T>(const Conv2dAttrs& attrs, Inputs in, Outputs out) {
  const Shape &x = in[0].type.shape, &weight = in[1].type.shape, &y = out[0].type.shape;
  const Spans spans = conv2d_spans(kConv2d, attrs, weight);
  const int64_t per_group = weight[1], outs_per_group = weight[0] / attrs.groups, taps = weight[2] * weight[3];
  std::vector<T> plane(y[2] * y[3]);
  T* to = out[0].as<T>();
  for (int64_t n = 0; n < y[0]; ++n) {
    for (int64_t o = 0; o < y[1]; ++o) {
      std::ranges::fill(plane, 0);
      for (int64_t c = 0; c < per_group; ++c) {
        const T* from = in[0].as<T>() + plane_at(x, n, o / outs_per_group * per_group + c);
        const T* filter = in[1].as<T>() + plane_at(weight, o, c);
        for (int64_t tap = 0; tap < taps; ++tap) {
          for_pairs_under_tap(spans, tap, x, y,
                              [&, sums = plane.data(), factor = filter[tap]](int64_t i, int64_t j, int64_t) {
                                sums[j] += factor * from[i];
                              });
        }
      }
      to = std::ranges::copy(plane, to).out;
    }
  }
};

OpDef conv2d_op() {
  OpDef op = conv2d_family_op(kConv2d, "cross-correlation of x[n, g*c, h, w] with w[g*o, c, p, q], padded with zeros",
                              Conv2dAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const auto& attrs = call.attrs.as<Conv2dAttrs>();
    const Shape &x = call.inputs[0].shape, &weight = call.inputs[1].shape;
    const int64_t groups = attrs.groups;
    if (groups < 1 || x[1] % groups != 0 || weight[0] % groups != 0 || x[1] / groups != weight[1]) {
      reject(kConv2d, "channels do not fit", fmt::format("{} and {} with {} groups", print(x), print(weight), groups),
             "[n, g*c, h, w] and [g*o, c, p, q]");
    }
    return {{call.inputs[0].dtype, checked_shape(kConv2d, conv2d_spans(kConv2d, attrs, weight), x, weight[0])}};
  };
  op.rule = [](const OpCall& call) {
    const auto& attrs = call.attrs.as<Conv2dAttrs>();
    return conv2d_rule("n(gc)[h][w],(go)cpq->n(go)hw | p:whole q:whole", call, attrs.groups,
                       conv2d_spans(kConv2d, attrs, call.inputs[1].shape), false);
  };
  op.localize = localized<Conv2dAttrs>([](Conv2dAttrs& attrs, const Shard& shard) {
    const Box &x = shard.inputs[0], &weight = shard.inputs[1];
    localize_window(attrs, conv2d_spans(kConv2d, attrs, whole_shape(weight)), x, shard.outputs[0]);
    if (weight[1].count() > 0) attrs.groups = x[1].count() / weight[1].count();
  });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const auto& attrs = call.attrs.as<Conv2dAttrs>();
    const Value x = call.inputs[0], weight = call.inputs[1], d_y = call.d_outputs[0];
    const Shape size = x.shape(), kernel = weight.shape();  // copies: new nodes move the types
    return {call.apply(kConv2dGradInput, {d_y, weight}, Conv2dGradInputAttrs{attrs, {size[2], size[3]}}),
            call.apply(kConv2dGradFilter, {x, d_y}, Conv2dGradFilterAttrs{attrs, {kernel[2], kernel[3]}})};
  };
  op.emit = emit_conv2d;
  op.kernel = float_kernel<float, Conv2dAttrs>(run_conv2d);
  op.samples = conv2d_samples([](const Conv2dCase& one) -> Sample {
    return {{sample_of(one.x), sample_of(one.weight)}, one.attrs};
  });
  return op;
}

constexpr auto run_conv2d_grad_input = []<class T>(const Conv2dGradInputAttrs& attrs, Inputs in, Outputs out) {
  const Shape &y = in[0].type.shape, &weight = in[1].type.shape, &x = out[0].type.shape;
  const Spans spans = conv2d_spans(kConv2dGradInput, attrs, weight);
  const int64_t per_group = weight[1], outs_per_group = weight[0] / attrs.groups, taps = weight[2] * weight[3];
  std::vector<T> plane(x[2] * x[3]);
  T* d_x = out[0].as<T>();
  for (int64_t n = 0; n < x[0]; ++n) {
    for (int64_t channel = 0; channel < x[1]; ++channel) {
      std::ranges::fill(plane, 0);
      const int64_t group = channel / per_group, c = channel % per_group;
      for (int64_t o = group * outs_per_group; o < (group + 1) * outs_per_group; ++o) {
        const T* d_y = in[0].as<T>() + plane_at(y, n, o);
        const T* filter = in[1].as<T>() + plane_at(weight, o, c);
        for (int64_t tap = 0; tap < taps; ++tap) {
          for_pairs_under_tap(spans, tap, x, y,
                              [&, sums = plane.data(), factor = filter[tap]](int64_t i, int64_t j, int64_t) {
                                sums[i] += factor * d_y[j];
                              });
        }
      }
      d_x = std::ranges::copy(plane, d_x).out;
    }
  }
};

OpDef conv2d_grad_input_op() {
  OpDef op = conv2d_family_op(kConv2dGradInput, "gradient of conv2d with respect to x, from d_y and w",
                              Conv2dGradInputAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const auto& attrs = call.attrs.as<Conv2dGradInputAttrs>();
    const Shape &d_y = call.inputs[0].shape, &weight = call.inputs[1].shape;
    if (attrs.groups < 1 || weight[0] % attrs.groups != 0 || d_y[1] != weight[0]) {
      reject(kConv2dGradInput, "channels do not fit",
             fmt::format("{} and {} with {} groups", print(d_y), print(weight), attrs.groups),
             "[n, g*o, h, w] and [g*o, c, p, q]");
    }
    require_grad_size(kConv2dGradInput, conv2d_spans(kConv2dGradInput, attrs, weight), attrs.size, d_y);
    return {{call.inputs[0].dtype, {d_y[0], weight[1] * attrs.groups, attrs.size[0], attrs.size[1]}}};
  };
  op.rule = [](const OpCall& call) {
    const auto& attrs = call.attrs.as<Conv2dGradInputAttrs>();
    return conv2d_rule("n(go)<h><w>,(go)cpq->n(gc)hw | p:whole q:whole", call, attrs.groups,
                       conv2d_spans(kConv2dGradInput, attrs, call.inputs[1].shape), true);
  };
  op.localize = localized<Conv2dGradInputAttrs>([](Conv2dGradInputAttrs& attrs, const Shard& shard) {
    const Box &weight = shard.inputs[1], &d_x = shard.outputs[0];
    localize_grad_window(attrs, conv2d_spans(kConv2dGradInput, attrs, whole_shape(weight)), shard.inputs[0], d_x);
    if (weight[1].count() > 0) attrs.groups = d_x[1].count() / weight[1].count();
  });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const auto& attrs = call.attrs.as<Conv2dGradInputAttrs>();
    const Value d_y = call.inputs[0], weight = call.inputs[1], d = call.d_outputs[0];
    const Shape kernel = weight.shape();
    return {call.apply(kConv2d, {d, weight}, Conv2dAttrs(attrs)),
            call.apply(kConv2dGradFilter, {d, d_y}, Conv2dGradFilterAttrs{attrs, {kernel[2], kernel[3]}})};
  };
  op.emit = emit_conv2d_grad_input;
  op.kernel = float_kernel<float, Conv2dGradInputAttrs>(run_conv2d_grad_input);
  op.samples = conv2d_samples([](const Conv2dCase& one) -> Sample {
    return {{one.d_y(), sample_of(one.weight)}, Conv2dGradInputAttrs{one.attrs, {one.x[2], one.x[3]}}};
  });
  return op;
}

/// Adds the products of a tap per column and then sums the row, so that the inner loop has no chain of dependent
/// additions.
constexpr auto run_conv2d_grad_filter = []<class T>(const Conv2dGradFilterAttrs& attrs, Inputs in, Outputs out) {
  const Shape &x = in[0].type.shape, &y = in[1].type.shape, &weight = out[0].type.shape;
  const Spans spans = conv2d_spans(attrs);
  const int64_t per_group = weight[1], outs_per_group = weight[0] / attrs.groups;
  std::vector<double> row_sums(y[3]);
  T* d_weight = out[0].as<T>();
  for (int64_t o = 0; o < weight[0]; ++o) {
    for (int64_t c = 0; c < per_group; ++c) {
      const int64_t channel = o / outs_per_group * per_group + c;
      for (int64_t tap = 0; tap < weight[2] * weight[3]; ++tap) {
        std::ranges::fill(row_sums, 0);
        for (int64_t n = 0; n < x[0]; ++n) {
          const T* from = in[0].as<T>() + plane_at(x, n, channel);
          const T* d_y = in[1].as<T>() + plane_at(y, n, o);
          for_pairs_under_tap(spans, tap, x, y, [&, sums = row_sums.data()](int64_t i, int64_t j, int64_t column) {
            sums[column] += double(from[i]) * double(d_y[j]);
          });
        }
        *d_weight++ = static_cast<T>(std::accumulate(row_sums.begin(), row_sums.end(), 0.0));
      }
    }
  }
};

OpDef conv2d_grad_filter_op() {
  OpDef op = conv2d_family_op(kConv2dGradFilter, "gradient of conv2d with respect to w, from x and d_y",
                              Conv2dGradFilterAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const auto& attrs = call.attrs.as<Conv2dGradFilterAttrs>();
    const Shape &x = call.inputs[0].shape, &d_y = call.inputs[1].shape;
    if (attrs.groups < 1 || x[0] != d_y[0] || x[1] % attrs.groups != 0 || d_y[1] % attrs.groups != 0) {
      reject(kConv2dGradFilter, "operands do not fit",
             fmt::format("{} and {} with {} groups", print(x), print(d_y), attrs.groups),
             "[n, g*c, h, w] and [n, g*o, h, w]");
    }
    require_grad_size(kConv2dGradFilter, conv2d_spans(attrs), {x[2], x[3]}, d_y);
    return {{call.inputs[0].dtype, {d_y[1], x[1] / attrs.groups, attrs.kernel[0], attrs.kernel[1]}}};
  };
  op.rule = [](const OpCall& call) {
    const auto& attrs = call.attrs.as<Conv2dGradFilterAttrs>();
    return conv2d_rule("n(gc)[h][w],n(go)hw->(go)cpq | p:whole q:whole", call, attrs.groups, conv2d_spans(attrs),
                       false);
  };
  op.localize = localized<Conv2dGradFilterAttrs>([](Conv2dGradFilterAttrs& attrs, const Shard& shard) {
    const Box &x = shard.inputs[0], &d_weight = shard.outputs[0];
    localize_window(attrs, conv2d_spans(attrs), x, shard.inputs[1]);
    if (d_weight[1].count() > 0) attrs.groups = x[1].count() / d_weight[1].count();
  });
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const auto& attrs = call.attrs.as<Conv2dGradFilterAttrs>();
    const Value x = call.inputs[0], d_y = call.inputs[1], d = call.d_outputs[0];
    const Shape size = x.shape();
    return {call.apply(kConv2dGradInput, {d_y, d}, Conv2dGradInputAttrs{attrs, {size[2], size[3]}}),
            call.apply(kConv2d, {x, d}, Conv2dAttrs(attrs))};
  };
  op.emit = emit_conv2d_grad_filter;
  op.kernel = float_kernel<double, Conv2dGradFilterAttrs>(run_conv2d_grad_filter);
  op.samples = conv2d_samples([](const Conv2dCase& one) -> Sample {
    return {{sample_of(one.x), one.d_y()}, Conv2dGradFilterAttrs{one.attrs, {one.weight[2], one.weight[3]}}};
  });
  return op;
}

}  // namespace

std::vector<OpDef> conv2d_ops() { return {conv2d_op(), conv2d_grad_input_op(), conv2d_grad_filter_op()}; }

}  // namespace partita
