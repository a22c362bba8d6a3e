// Sums over leading, trailing or all dimensions, and per channel of 4-D tensors (the gradients of biases).

#include <omp.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "ir/ops/reduce/attrs.h"
#include "runtime/device/cpu/loops/blocks.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

/// x seen as [outer, middle, inner]. The sum is over outer and inner (per channel), over outer (inner = 1), or over
/// inner (outer = 1). In a blocked memory format `lanes` channels are innermost.
struct View {
  int64_t outer = 1, middle = 1, inner = 1, lanes = 1;
};

std::optional<View> view_of(const Shape& shape, std::vector<int64_t> axes) {
  std::ranges::sort(axes);
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<bool> reduced(shape.size(), false);
  for (int64_t axis : axes) reduced[axis] = true;
  int64_t first = 0;  // end of the reduced prefix
  while (first < rank && reduced[first]) ++first;
  int64_t last = rank;  // begin of the reduced suffix
  while (last > first && reduced[last - 1]) --last;
  View view;
  for (int64_t d = 0; d < rank; ++d) {
    if (d >= first && d < last && reduced[d]) return std::nullopt;
    (d < first ? view.outer : d < last ? view.middle : view.inner) *= shape[d];
  }
  return view;
}

constexpr int64_t kBlock = 4096;

/// The type in which elements of type T are added within a block.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// The sum of contiguous elements: f32 in short blocks that are added in f64.
template <class T>
double sum_run(const T* x, int64_t count) {
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    SumOf<T> sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += static_cast<SumOf<T>>(x[i]);
    total += static_cast<double>(sum);
  }
  return total;
}

/// Rows and middle elements (blocks of lanes in a blocked memory format) that are summed together.
struct Part {
  int64_t first_row, last_row, first, last;
};

/// Adds the elements of x in `part` to `sums`, which has one sum per middle index and lane, over the rows and the inner
/// dimension.
template <class T>
void sum_part(const View& view, const T* x, const Part& part, double* sums) {
  if (view.middle * view.inner * view.lanes == 1) {  // contiguous elements
    sums[0] += sum_run(x + part.first_row, part.last_row - part.first_row);
    return;
  }
  for (int64_t row = part.first_row; row < part.last_row; ++row) {
    const T* from = x + row * view.middle * view.inner * view.lanes;
    if (view.lanes > 1) {
      for (int64_t block = part.first; block < part.last; ++block) {
        const T* plane = from + block * view.inner * view.lanes;
        SumOf<T> lane_sums[kMaxLanes] = {};
        for (int64_t i = 0; i < view.inner; ++i) {
#pragma omp simd
          for (int64_t lane = 0; lane < view.lanes; ++lane) {
            lane_sums[lane] += static_cast<SumOf<T>>(plane[i * view.lanes + lane]);
          }
        }
        for (int64_t lane = 0; lane < view.lanes; ++lane) sums[block * view.lanes + lane] += lane_sums[lane];
      }
    } else if (view.inner == 1) {
#pragma omp simd
      for (int64_t i = part.first; i < part.last; ++i) sums[i] += static_cast<double>(static_cast<SumOf<T>>(from[i]));
    } else {
      for (int64_t i = part.first; i < part.last; ++i) sums[i] += sum_run(from + i * view.inner, view.inner);
    }
  }
}

constexpr int64_t kMaxSums = int64_t{1} << 17;

/// Returns the number of ranges into which the outer dimension is split: that of `ranges_of`, but so few that their
/// sums are at most kMaxSums numbers; at least 1. If there are few, threads share the middle dimension, which changes
/// no sum.
int64_t row_ranges(const View& view) {
  return std::min(ranges_of(view.outer), std::max<int64_t>(1, kMaxSums / (view.middle * view.lanes)));
}

template <class T>
LoopFn bind_reduce(const View& view, double scale, int64_t results) {
  const int64_t ranges = row_ranges(view), threads = omp_get_max_threads();
  const int64_t shares = ranges >= threads ? 1 : std::min(view.middle, (threads + ranges - 1) / ranges);
  return [=](auto in, auto out, void* scratch) {
    const T* x = static_cast<const T*>(in[0]);
    auto* y = static_cast<SumOf<T>*>(out[0]);
    double* sums = static_cast<double*>(scratch);
    const int64_t width = view.middle * view.lanes, size = view.outer * view.inner * width;
    std::fill_n(sums, width * ranges, 0.0);
#pragma omp parallel for if (size > kSerialElements)
    for (int64_t t = 0; t < ranges * shares; ++t) {
      const int64_t range = t / shares, share = t % shares;
      const Part part{range_begin(view.outer, ranges, range), range_begin(view.outer, ranges, range + 1),
                      range_begin(view.middle, shares, share), range_begin(view.middle, shares, share + 1)};
      sum_part(view, x, part, sums + range * width);
    }
    for (int64_t i = 0; i < results; ++i) {
      double total = sums[i];
      for (int64_t range = 1; range < ranges; ++range) total += sums[range * width + i];
      y[i] = static_cast<SumOf<T>>(total * scale);
    }
  };
}

/// The view of an operand in its memory format. Blocks of lanes are the middle dimension; if channels are innermost,
/// pixels are the outer one.
View laid_out(const KernelQuery& query, const MemoryFormat& format) {
  View view = *view_of(query.inputs[0].shape, query.attrs.as<ReduceAttrs>().axes);
  if (const int64_t lanes = lanes_of(query.inputs[0], format); lanes > 0) {
    view.middle = (view.middle + lanes - 1) / lanes;
    view.lanes = lanes;
  }
  if (channels_last(query.inputs[0], format)) {
    view.outer *= view.inner;
    view.inner = 1;
  }
  return view;
}

/// Bytes of scratch memory. Never less than smaller views need.
int64_t scratch_bytes_reduce(const View& view) {
  const int64_t width = view.middle * view.lanes;
  return std::min(ranges_of(view.outer) * width, std::max(kMaxSums, width)) * static_cast<int64_t>(sizeof(double));
}

KernelChoice propose_reduce(const KernelQuery& query) {
  if (const std::string reason = unsupported_by_loops(query, {.operands = {0}, .results = {}}); !reason.empty()) {
    return refuse(reason);
  }
  const ReduceAttrs& attrs = query.attrs.as<ReduceAttrs>();
  if (attrs.kind != Reduce::sum) return refuse("only sums");
  if (query.inputs[0].elements() == 0) return refuse("empty");
  const std::optional<View> view = view_of(query.inputs[0].shape, attrs.axes);
  if (!view) return refuse("reduced dimensions lie inside");
  const int64_t lanes = lanes_of(query.inputs[0], query.input_formats[0]);
  const bool per_channel = attrs.axes == std::vector<int64_t>{0, 2, 3};
  const bool innermost = lanes > 0 || channels_last(query.inputs[0], query.input_formats[0]);
  const MemoryFormat format = innermost && per_channel ? query.input_formats[0] : MemoryFormat{};
  return {.kernel = "loops.reduce",
          .inputs = {format},
          .outputs = {MemoryFormat{}},
          .scratch_bytes = scratch_bytes_reduce(laid_out(query, format))};
}

}  // namespace

std::vector<KernelDef> reduce_kernels() {
  KernelDef def{.name = "loops.reduce", .ops = {"reduce"}, .propose = propose_reduce};
  def.mixes_halves = true;
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    const View view = laid_out(query, choice.inputs[0]);
    PARTITA_CHECK(scratch_bytes_reduce(view) <= choice.scratch_bytes, "{} bytes of scratch, {} were asked for",
                  scratch_bytes_reduce(view), choice.scratch_bytes);
    const int64_t results = query.outputs[0].elements();
    const double scale = query.attrs.as<ReduceAttrs>().scale;
    LoopFn run;
    for_float(query.inputs[0].dtype, [&](auto zero) { run = bind_reduce<decltype(zero)>(view, scale, results); });
    return make_loop(std::move(run));
  };
  return {def};
}

}  // namespace partita
