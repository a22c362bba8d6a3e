// avg_pool and its gradient, on dense tensors (one lane) and on blocks of channels (a lane per channel).

#include <algorithm>
#include <cstring>

#include "ir/ops/pool/pool.h"
#include "ir/ops/window.h"
#include "runtime/device/cpu/loops/blocks.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kAvgPool = "loops.avg_pool";

/// One dimension of a pooling: per output, the inputs under it and the divisor of their sum.
struct Side {
  int64_t size = 0;
  std::vector<Range> under;
  std::vector<int64_t> counts;
};

/// Returns the side of `size` inputs with `outputs` results. The inputs begin at index `begin` of a dimension of
/// `whole`, so that padding can be told from elements of other shards. Padding is in the divisors only if `count_pad`.
Side side_of(const WindowSpan& span, bool count_pad, int64_t size, int64_t outputs, int64_t begin, int64_t whole) {
  Side side{.size = size};
  for (int64_t output = 0; output < outputs; ++output) {
    side.under.push_back(inside(span, output, size));
    const int64_t first = begin + output * span.stride - span.before;
    const int64_t covered = std::min(whole, first + span.taps) - std::max<int64_t>(0, first);
    side.counts.push_back(count_pad ? span.taps : covered);
  }
  return side;
}

struct Sides {
  Side h, w;
  int64_t in_size() const { return h.size * w.size; }
  int64_t out_size() const { return static_cast<int64_t>(h.under.size() * w.under.size()); }
};

template <class T, int64_t kLanes>
void pool_plane_avg_pool(const Sides& sides, const T* x, T* y) {
  for (size_t row = 0; row < sides.h.under.size(); ++row) {
    for (size_t column = 0; column < sides.w.under.size(); ++column, y += kLanes) {
      const Range rows = sides.h.under[row], columns = sides.w.under[column];
      T sum[kLanes] = {};
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        for (int64_t j = columns.begin; j < columns.end; ++j) {
#pragma omp simd
          for (int64_t lane = 0; lane < kLanes; ++lane) sum[lane] += x[(i * sides.w.size + j) * kLanes + lane];
        }
      }
      const T count = static_cast<T>(sides.h.counts[row] * sides.w.counts[column]);
#pragma omp simd
      for (int64_t lane = 0; lane < kLanes; ++lane) y[lane] = sum[lane] / count;
    }
  }
}

template <class T, int64_t kLanes>
void unpool_plane_avg_pool(const Sides& sides, const T* d_y, T* d_x) {
  std::memset(d_x, 0, static_cast<size_t>(sides.in_size() * kLanes) * sizeof(T));
  for (size_t row = 0; row < sides.h.under.size(); ++row) {
    for (size_t column = 0; column < sides.w.under.size(); ++column, d_y += kLanes) {
      const Range rows = sides.h.under[row], columns = sides.w.under[column];
      const T count = static_cast<T>(sides.h.counts[row] * sides.w.counts[column]);
      T share[kLanes];
#pragma omp simd
      for (int64_t lane = 0; lane < kLanes; ++lane) share[lane] = d_y[lane] / count;
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        for (int64_t j = columns.begin; j < columns.end; ++j) {
#pragma omp simd
          for (int64_t lane = 0; lane < kLanes; ++lane) d_x[(i * sides.w.size + j) * kLanes + lane] += share[lane];
        }
      }
    }
  }
}

Sides sides_of(const KernelQuery& query) {
  const Shape &from = query.inputs[0].shape, &to = query.outputs[0].shape;
  if (query.op == "avg_pool") {
    const auto& attrs = query.attrs.as<AvgPoolAttrs>();
    const Spans spans = make_spans("avg_pool", attrs.stride, {1, 1}, attrs.pads, attrs.kernel);
    const bool count_pad = attrs.count_include_pad;
    return {side_of(spans.h, count_pad, from[2], to[2], 0, from[2]),
            side_of(spans.w, count_pad, from[3], to[3], 0, from[3])};
  }
  const auto& attrs = query.attrs.as<AvgPoolGradAttrs>();
  const Spans spans = make_spans("avg_pool_grad", attrs.stride, {1, 1}, attrs.pads, attrs.kernel);
  const bool count_pad = attrs.count_include_pad;
  return {side_of(spans.h, count_pad, to[2], from[2], attrs.begin[0], attrs.whole[0]),
          side_of(spans.w, count_pad, to[3], from[3], attrs.begin[1], attrs.whole[1])};
}

template <class T, int64_t kLanes>
LoopFn bind_avg_pool(const KernelQuery& query) {
  const int64_t planes = planes_of(query.inputs[0].shape, kLanes);
  return [planes, grad = query.op == "avg_pool_grad", sides = sides_of(query)](auto in, auto out, void*) {
    const T* from = static_cast<const T*>(in[0]);
    T* to = static_cast<T*>(out[0]);
    const int64_t pooled = sides.out_size() * kLanes, full = sides.in_size() * kLanes;
#pragma omp parallel for if (planes * full > kSerialElements)
    for (int64_t i = 0; i < planes; ++i) {
      grad ? unpool_plane_avg_pool<T, kLanes>(sides, from + i * pooled, to + i * full)
           : pool_plane_avg_pool<T, kLanes>(sides, from + i * full, to + i * pooled);
    }
  };
}

KernelChoice propose_avg_pool(const KernelQuery& query) {
  KernelChoice choice = propose_dense(kAvgPool, query);
  const int64_t lanes = lanes_of(query.inputs[0], query.input_formats[0]);
  if (!choice.accepted() || lanes == 0) return choice;
  choice.inputs = {query.input_formats[0]};
  choice.outputs = {blocked(query.outputs[0], query.input_formats[0].tag, lanes)};
  return choice;
}

}  // namespace

std::vector<KernelDef> avg_pool_kernels() {
  KernelDef def{.name = kAvgPool, .ops = {"avg_pool", "avg_pool_grad"}, .propose = propose_avg_pool};
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    const int64_t lanes = lanes_of(query.inputs[0], choice.inputs[0]);
    if (lanes == 16) return make_loop(bind_avg_pool<float, 16>(query));
    if (lanes == 8) return make_loop(bind_avg_pool<float, 8>(query));
    return make_loop(query.inputs[0].dtype == DType::f64 ? bind_avg_pool<double, 1>(query)
                                                         : bind_avg_pool<float, 1>(query));
  };
  return {def};
}

}  // namespace partita
