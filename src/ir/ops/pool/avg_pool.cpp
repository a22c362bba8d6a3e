#include "ir/ops/kernels.h"
#include "ir/ops/pool/pool.h"

namespace partita {
namespace {

constexpr auto kAvgPool = "avg_pool";
constexpr auto kAvgPoolGrad = "avg_pool_grad";

/// Returns what a window's sum is divided by. `covered` is the number of its elements that are not padding.
template <class T>
T divisor(const AvgPoolAttrs& attrs, int64_t covered) {
  return static_cast<T>(attrs.count_include_pad ? attrs.kernel[0] * attrs.kernel[1] : covered);
}

constexpr auto run_avg_pool = []<class T>(const AvgPoolAttrs& attrs, Inputs in, Outputs out) {
  const Spans spans = pool_spans(kAvgPool, attrs);
  const Shape &x = in[0].type.shape, &y = out[0].type.shape;
  T* mean = out[0].as<T>();
  for (int64_t plane = 0; plane < y[0] * y[1]; ++plane) {
    const T* from = in[0].as<T>() + plane * x[2] * x[3];
    for (int64_t row = 0; row < y[2]; ++row) {
      const Range rows = inside(spans.h, row, x[2]);
      for (int64_t column = 0; column < y[3]; ++column) {
        const Range columns = inside(spans.w, column, x[3]);
        T sum = 0;
        for (int64_t i = rows.begin; i < rows.end; ++i) {
          for (int64_t j = columns.begin; j < columns.end; ++j) sum += from[i * x[3] + j];
        }
        *mean++ = sum / divisor<T>(attrs, rows.count() * columns.count());
      }
    }
  }
};

OpDef avg_pool_op() {
  OpDef op =
      pool_op<AvgPoolAttrs>(kAvgPool, "mean of each window of x[n, c, h, w], with or without the padding", "nchw");
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    const Type& x = call.inputs[0];
    return {{x.dtype, pooled_shape(kAvgPool, call.attrs.as<AvgPoolAttrs>(), x.shape)}};
  };
  op.rule = [rule = op.rule](const OpCall& call) { return rule(call).linear_in({0}); };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const Shape& x = call.inputs[0].shape();
    return {call.apply(kAvgPoolGrad, {call.d_outputs[0]},
                       AvgPoolGradAttrs{call.attrs.as<AvgPoolAttrs>(), {x[2], x[3]}, {0, 0}, {x[2], x[3]}})};
  };
  op.emit = emit_avg_pool;
  op.kernel = float_kernel<float, AvgPoolAttrs>(run_avg_pool);
  op.samples = {
      {{sample_of({2, 3, 7, 6})},
       AvgPoolAttrs{{.kernel = {3, 3}, .stride = {2, 2}, .pads = {1, 1, 1, 1}}, /*count_include_pad=*/false}},
      {{sample_of({3, 2, 6, 6})}, AvgPoolAttrs{{.kernel = {2, 3}, .stride = {2, 1}, .pads = {0, 2, 1, 0}}}},
  };
  return op;
}

std::vector<Type> infer_avg_pool_grad(const OpCall& call) {
  const auto& attrs = call.attrs.as<AvgPoolGradAttrs>();
  const bool pairs = attrs.size.size() == 2 && attrs.begin.size() == 2 && attrs.whole.size() == 2;
  for (size_t d = 0; d < 2; ++d) {
    if (pairs && attrs.begin[d] >= 0 && attrs.size[d] <= attrs.whole[d] - attrs.begin[d]) continue;
    reject(kAvgPoolGrad, "local rows are not inside the whole",
           fmt::format("size {}, begin {}, whole {}", to_text(attrs.size), to_text(attrs.begin), to_text(attrs.whole)),
           "begin + size up to whole, height and width");
  }
  return {pool_grad_type(kAvgPoolGrad, attrs, attrs.size, call.inputs[0])};
}

/// Returns the number of elements of window `output` that are not padding in the whole tensor. Windows are counted in a
/// part that begins at row or column `begin` of `whole`.
int64_t covered(const WindowSpan& span, int64_t output, int64_t begin, int64_t whole) {
  const int64_t first = begin + output * span.stride - span.before;
  return std::min(whole, first + span.taps) - std::max<int64_t>(0, first);
}

constexpr auto run_avg_pool_grad = []<class T>(const AvgPoolGradAttrs& attrs, Inputs in, Outputs out) {
  const Spans spans = pool_spans(kAvgPoolGrad, attrs);
  const Shape &y = in[0].type.shape, &x = out[0].type.shape;
  const T* d_y = in[0].as<T>();
  T* sums = out[0].as<T>();
  std::fill_n(sums, out[0].type.elements(), T{});
  for (int64_t plane = 0; plane < y[0] * y[1]; ++plane, sums += x[2] * x[3]) {
    for (int64_t row = 0; row < y[2]; ++row) {
      const Range rows = inside(spans.h, row, x[2]);
      const int64_t high = covered(spans.h, row, attrs.begin[0], attrs.whole[0]);
      for (int64_t column = 0; column < y[3]; ++column) {
        const Range columns = inside(spans.w, column, x[3]);
        const int64_t wide = covered(spans.w, column, attrs.begin[1], attrs.whole[1]);
        const T share = *d_y++ / divisor<T>(attrs, high * wide);
        for (int64_t i = rows.begin; i < rows.end; ++i) {
          for (int64_t j = columns.begin; j < columns.end; ++j) sums[i * x[3] + j] += share;
        }
      }
    }
  }
};

OpDef avg_pool_grad_op() {
  OpDef op =
      pool_grad_op<AvgPoolGradAttrs>(kAvgPoolGrad, "gradient of avg_pool: each d_y is shared out over its window", 1);
  op.infer = infer_avg_pool_grad;
  op.localize = [localize = op.localize](const Attrs& given, const Shard& shard) -> Attrs {
    AvgPoolGradAttrs attrs = localize(given, shard).as<AvgPoolGradAttrs>();
    const Box& d_x = shard.outputs[0];
    attrs.begin = {d_x[2].begin, d_x[3].begin};
    attrs.whole = {d_x[2].size, d_x[3].size};
    return attrs;
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    return {call.apply(kAvgPool, {call.d_outputs[0]}, AvgPoolAttrs(call.attrs.as<AvgPoolGradAttrs>()))};
  };
  op.emit = emit_avg_pool_grad;
  op.kernel = float_kernel<float, AvgPoolGradAttrs>(run_avg_pool_grad);
  for (const Sample& sample : avg_pool_op().samples) {
    const auto& attrs = sample.attrs.as<AvgPoolAttrs>();
    const Shape& x = sample.inputs[0].type.shape;
    op.samples.push_back(
        {{sample_of(pooled_shape(kAvgPool, attrs, x))}, AvgPoolGradAttrs{attrs, {x[2], x[3]}, {0, 0}, {x[2], x[3]}}});
  }
  return op;
}

}  // namespace

std::vector<OpDef> avg_pool_ops() { return {avg_pool_op(), avg_pool_grad_op()}; }

}  // namespace partita
