#include "ops/conv2d.h"
#include "ops/support.h"
#include "ops/window.h"

namespace partita {
namespace {

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

/// row[column] += x * d_y for one pair of planes and one tap; the row is summed by the caller, so that
/// the inner loop has no chain of dependent additions.
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

}  // namespace

OpDef conv2d_grad_filter_op() {
  OpDef op;
  op.name = "conv2d_grad_filter";
  op.summary = "gradient of conv2d with respect to w, from x and d_y";
  op.attrs = Attrs(Conv2dGradFilterAttrs{});
  op.infer = infer_conv2d_grad_filter;
  op.rule = rule_conv2d_grad_filter;
  op.localize = localize_conv2d_grad_filter;
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

}  // namespace partita
