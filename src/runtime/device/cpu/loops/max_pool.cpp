// max_pool and its gradient, on dense tensors (one lane) and on blocks of channels (a lane per channel).

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/ops/pool/pool.h"
#include "runtime/device/cpu/loops/blocks.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

/// One pooled plane: `height` x `width` elements under windows with `rows` x `columns` results.
struct Plane {
  int64_t height, width, rows, columns;
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
};

template <class PoolAttrs>
Plane plane_of(const PoolAttrs& attrs, const Shape& x, const Shape& y) {
  return {x[2],          x[3],         y[2], y[3], attrs.kernel[0], attrs.kernel[1], attrs.stride[0], attrs.stride[1],
          attrs.pads[0], attrs.pads[1]};
}

struct Taps {
  int64_t begin, end;  // part of a window inside the plane
};

Taps taps(int64_t first, int64_t kernel, int64_t size) {
  return {std::max<int64_t>(0, -first), std::min(kernel, size - first)};
}

/// Pools one plane of `kLanes` channels. Stores the maxima to `y` and the index of each one's tap in its window to
/// `position`. The first of equal elements wins, and NaN beats all, as in the reference.
template <class T, int64_t kLanes>
void pool_plane_max_pool(const Plane& plane, const T* x, T* y, int32_t* position) {
  for (int64_t row = 0; row < plane.rows; ++row) {
    const int64_t top = row * plane.stride_h - plane.pad_h;
    const Taps down = taps(top, plane.kernel_h, plane.height);
    for (int64_t column = 0; column < plane.columns; ++column, y += kLanes, position += kLanes) {
      const int64_t left = column * plane.stride_w - plane.pad_w;
      const Taps across = taps(left, plane.kernel_w, plane.width);
      T best[kLanes];
      int32_t where[kLanes];
      const T* first = x + ((top + down.begin) * plane.width + left + across.begin) * kLanes;
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        best[lane] = first[lane];
        where[lane] = static_cast<int32_t>(down.begin * plane.kernel_w + across.begin);
      }
      for (int64_t p = down.begin; p < down.end; ++p) {
        for (int64_t q = across.begin; q < across.end; ++q) {
          const T* at = x + ((top + p) * plane.width + left + q) * kLanes;
          const auto tap = static_cast<int32_t>(p * plane.kernel_w + q);
#pragma omp simd
          for (int64_t lane = 0; lane < kLanes; ++lane) {
            const T value = at[lane];
            const bool larger = value > best[lane] || (value != value && best[lane] == best[lane]);
            best[lane] = larger ? value : best[lane];
            where[lane] = larger ? tap : where[lane];
          }
        }
      }
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        y[lane] = best[lane];
        position[lane] = where[lane];
      }
    }
  }
}

template <class T, int64_t kLanes>
void unpool_plane_max_pool(const Plane& plane, const T* d_y, const int32_t* position, T* d_x) {
  std::memset(d_x, 0, static_cast<size_t>(plane.height * plane.width * kLanes) * sizeof(T));
  for (int64_t row = 0; row < plane.rows; ++row) {
    const int64_t top = row * plane.stride_h - plane.pad_h;
    for (int64_t column = 0; column < plane.columns; ++column, d_y += kLanes, position += kLanes) {
      const int64_t left = column * plane.stride_w - plane.pad_w;
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const int64_t at_row = top + position[lane] / plane.kernel_w,
                      at_column = left + position[lane] % plane.kernel_w;
        // A shard also has windows whose largest element is on a neighbour.
        if (at_row < 0 || at_row >= plane.height || at_column < 0 || at_column >= plane.width) continue;
        d_x[(at_row * plane.width + at_column) * kLanes + lane] += d_y[lane];
      }
    }
  }
}

template <class T, int64_t kLanes>
LoopFn bind_pool(const KernelQuery& query) {
  const Plane plane = plane_of(query.attrs.as<MaxPoolAttrs>(), query.inputs[0].shape, query.outputs[0].shape);
  const int64_t planes = planes_of(query.inputs[0].shape, kLanes);
  const int64_t in_size = plane.height * plane.width * kLanes, out_size = plane.rows * plane.columns * kLanes;
  return [=](auto in, auto out, void*) {
    const T* x = static_cast<const T*>(in[0]);
    T* y = static_cast<T*>(out[0]);
    int32_t* position = static_cast<int32_t*>(out[1]);
#pragma omp parallel for if (planes * in_size > kSerialElements)
    for (int64_t i = 0; i < planes; ++i) {
      pool_plane_max_pool<T, kLanes>(plane, x + i * in_size, y + i * out_size, position + i * out_size);
    }
  };
}

template <class T, int64_t kLanes>
LoopFn bind_unpool(const KernelQuery& query) {
  const Plane plane = plane_of(query.attrs.as<MaxPoolGradAttrs>(), query.outputs[0].shape, query.inputs[0].shape);
  const int64_t planes = planes_of(query.outputs[0].shape, kLanes);
  const int64_t in_size = plane.height * plane.width * kLanes, out_size = plane.rows * plane.columns * kLanes;
  return [=](auto in, auto out, void*) {
    const T* d_y = static_cast<const T*>(in[0]);
    const int32_t* position = static_cast<const int32_t*>(in[1]);
    T* d_x = static_cast<T*>(out[0]);
#pragma omp parallel for if (planes * in_size > kSerialElements)
    for (int64_t i = 0; i < planes; ++i) {
      unpool_plane_max_pool<T, kLanes>(plane, d_y + i * out_size, position + i * out_size, d_x + i * in_size);
    }
  };
}

template <class T, int64_t kLanes>
LoopFn bind_max_pool(const KernelQuery& query) {
  return query.op == "max_pool" ? bind_pool<T, kLanes>(query) : bind_unpool<T, kLanes>(query);
}

KernelChoice propose_max_pool(const KernelQuery& query) {
  if (const std::string reason = unsupported_by_loops(query); !reason.empty()) return refuse(reason);
  if (query.outputs[0].elements() == 0) return refuse("empty");
  KernelChoice choice{.kernel = "loops.max_pool",
                      .inputs = std::vector<MemoryFormat>(query.inputs.size()),
                      .outputs = std::vector<MemoryFormat>(query.outputs.size())};
  // The gradient takes the memory format of its positions, which cannot be reordered.
  const size_t leader = query.inputs.size() - 1;
  const Type leader_type{query.inputs[0].dtype, query.inputs[leader].shape};
  const int64_t lanes = lanes_of(leader_type, query.input_formats[leader]);
  if (lanes == 0 || (query.op == "max_pool_grad" && query.input_formats[leader].plain())) return choice;
  const std::string& tag = query.input_formats[leader].tag;
  for (size_t i = 0; i < query.inputs.size(); ++i) choice.inputs[i] = blocked(query.inputs[i], tag, lanes);
  for (size_t k = 0; k < query.outputs.size(); ++k) choice.outputs[k] = blocked(query.outputs[k], tag, lanes);
  return choice;
}

}  // namespace

std::vector<KernelDef> max_pool_kernels() {
  KernelDef def{.name = "loops.max_pool", .ops = {"max_pool", "max_pool_grad"}, .propose = propose_max_pool};
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    const Type& x = query.inputs[0];
    const int64_t lanes = lanes_of(x, choice.inputs[0]);
    if (lanes == 16) return make_loop(bind_max_pool<float, 16>(query));
    if (lanes == 8) return make_loop(bind_max_pool<float, 8>(query));
    return make_loop(x.dtype == DType::f64 ? bind_max_pool<double, 1>(query) : bind_max_pool<float, 1>(query));
  };
  return {def};
}

}  // namespace partita
