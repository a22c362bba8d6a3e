// Sums over leading, trailing or all dimensions, and per channel of 4-D tensors (the gradients of biases).
// Every thread sums a fixed range of rows and the ranges are added in order, so the bits depend on the
// number of threads alone.

#include "ops/reduce.h"

#include <omp.h>

#include <algorithm>
#include <optional>

#include "device/cpu/loops/blocks.h"
#include "device/cpu/loops/loop_support.h"

namespace partita {
namespace {

/// x seen as [outer, middle, inner]; the sum is over outer and inner (per channel), outer (inner = 1), or
/// inner (outer = 1). `lanes` channels lie innermost in a blocked layout.
struct View {
  int64_t outer = 1, middle = 1, inner = 1, lanes = 1;
};

std::optional<View> view_of(const Shape& shape, std::vector<int64_t> axes) {
  std::sort(axes.begin(), axes.end());
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<bool> reduced(shape.size(), false);
  for (int64_t axis : axes) reduced[axis] = true;
  int64_t first = 0;  // reduced prefix
  while (first < rank && reduced[first]) ++first;
  int64_t last = rank;  // reduced suffix
  while (last > first && reduced[last - 1]) --last;
  View view;
  for (int64_t d = 0; d < rank; ++d) {
    if (d >= first && d < last && reduced[d]) return std::nullopt;
    (d < first ? view.outer : d < last ? view.middle : view.inner) *= shape[d];
  }
  return view;
}

constexpr int64_t kBlock = 4096;

/// The sum of a run: f32 in short blocks that are added in f64.
template <class T>
double sum_run(const T* x, int64_t count) {
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += x[i];
    total += static_cast<double>(sum);
  }
  return total;
}

/// Adds rows [begin, end) of the outer dimension into `sums` (middle * lanes doubles).
template <class T>
void sum_rows(const View& view, const T* x, int64_t begin, int64_t end, double* sums) {
  for (int64_t row = begin; row < end; ++row) {
    const T* from = x + row * view.middle * view.inner * view.lanes;
    if (view.lanes > 1) {
      for (int64_t block = 0; block < view.middle; ++block, from += view.inner * view.lanes) {
        T lane_sums[kMostLanes] = {};
        for (int64_t i = 0; i < view.inner; ++i) {
#pragma omp simd
          for (int64_t lane = 0; lane < view.lanes; ++lane) lane_sums[lane] += from[i * view.lanes + lane];
        }
        for (int64_t lane = 0; lane < view.lanes; ++lane) sums[block * view.lanes + lane] += lane_sums[lane];
      }
    } else if (view.inner == 1) {
#pragma omp simd
      for (int64_t i = 0; i < view.middle; ++i) sums[i] += static_cast<double>(from[i]);
    } else {
      for (int64_t i = 0; i < view.middle; ++i) sums[i] += sum_run(from + i * view.inner, view.inner);
    }
  }
}

template <class T>
LoopFn bind(const View& view, double scale, int64_t results, int most_threads) {
  return [=](auto in, auto out, void* scratch) {
    const T* x = static_cast<const T*>(in[0]);
    T* y = static_cast<T*>(out[0]);
    double* sums = static_cast<double*>(scratch);
    const int64_t width = view.middle * view.lanes, size = view.outer * view.inner * width;
    const int threads = size > kSerialElements ? static_cast<int>(std::min<int64_t>(most_threads, view.outer)) : 1;
    std::fill_n(sums, width * threads, 0.0);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      sum_rows(view, x, view.outer * t / threads, view.outer * (t + 1) / threads, sums + t * width);
    }
    for (int64_t i = 0; i < results; ++i) {
      double total = sums[i];
      for (int t = 1; t < threads; ++t) total += sums[t * width + i];
      y[i] = static_cast<T>(total * scale);
    }
  };
}

KernelChoice propose(const KernelQuery& query) {
  if (const std::string reason = unsupported_by_loops(query); !reason.empty()) return refuse(reason);
  const ReduceAttrs& attrs = query.attrs.as<ReduceAttrs>();
  if (attrs.kind != Reduce::sum) return refuse("only sums");
  if (query.inputs[0].elements() == 0) return refuse("empty");
  const std::optional<View> view = view_of(query.inputs[0].shape, attrs.axes);
  if (!view) return refuse("reduced dimensions lie inside");
  const int64_t lanes = lanes_of(query.inputs[0], query.input_layouts[0]);
  const bool per_channel = attrs.axes == std::vector<int64_t>{0, 2, 3};
  const bool innermost = lanes > 0 || channels_last(query.inputs[0], query.input_layouts[0]);
  const Layout layout = innermost && per_channel ? query.input_layouts[0] : Layout{};
  const int64_t width = view->middle + kMostLanes;
  return {.kernel = "loops.reduce",
          .inputs = {layout},
          .outputs = {Layout{}},
          .scratch_bytes = width * omp_get_max_threads() * static_cast<int64_t>(sizeof(double))};
}

}  // namespace

KernelDef reduce_kernel() {
  KernelDef def{.name = "loops.reduce", .ops = {"reduce"}, .propose = propose};
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    const ReduceAttrs& attrs = query.attrs.as<ReduceAttrs>();
    View view = *view_of(query.inputs[0].shape, attrs.axes);
    const int64_t results = view.middle, lanes = lanes_of(query.inputs[0], choice.inputs[0]);
    const int64_t room = choice.scratch_bytes / static_cast<int64_t>(sizeof(double)) / (view.middle + kMostLanes);
    if (lanes > 0) {
      view.middle = (view.middle + lanes - 1) / lanes;
      view.lanes = lanes;
    }
    if (channels_last(query.inputs[0], choice.inputs[0])) {
      view.outer *= view.inner;
      view.inner = 1;
    }
    const int threads = static_cast<int>(std::clamp<int64_t>(omp_get_max_threads(), 1, std::max<int64_t>(room, 1)));
    return make_loop(query.inputs[0].dtype == DType::f64 ? bind<double>(view, attrs.scale, results, threads)
                                                         : bind<float>(view, attrs.scale, results, threads));
  };
  return def;
}

}  // namespace partita
