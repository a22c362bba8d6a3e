// max_pool and its gradient, on dense tensors (one lane) and on blocks of channels (a lane per channel). Operands of 16
// bits are widened where they are read, results are rounded by vectors of lanes and by rows.

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "ir/ops/pool/pool.h"
#include "runtime/device/cpu/loops/blocks.h"
#include "runtime/device/cpu/loops/halves.h"
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

/// The type in which elements of type X are computed.
template <class X>
using Computed = std::conditional_t<std::is_same_v<X, double>, double, float>;

/// Returns `kLanes` elements in the type in which they are computed: where they are, or widened into `room`.
template <int64_t kLanes, class X>
const Computed<X>* widened(const X* x, Computed<X>* room) {
  if constexpr (std::is_same_v<X, Computed<X>>) {
    return x;
  } else {
    convert_elements(x, room, kLanes);
    return room;
  }
}

/// Pools one plane of `kLanes` channels. Stores the maxima to `y`, from its element `y_at` on, and the index of each
/// one's tap in its window to `position`. The first of equal elements wins, and NaN beats all, as in the reference.
template <class X, int64_t kLanes>
void pool_plane_max_pool(const Plane& plane, const X* x, const LoopResult<Computed<X>>& y, int64_t y_at,
                         int32_t* position) {
  using T = Computed<X>;
  alignas(64) T room[kLanes];
  for (int64_t row = 0; row < plane.rows; ++row) {
    const int64_t top = row * plane.stride_h - plane.pad_h;
    const Taps down = taps(top, plane.kernel_h, plane.height);
    for (int64_t column = 0; column < plane.columns; ++column, y_at += kLanes, position += kLanes) {
      const int64_t left = column * plane.stride_w - plane.pad_w;
      const Taps across = taps(left, plane.kernel_w, plane.width);
      T best[kLanes];
      int32_t where[kLanes];
      const T* first = widened<kLanes>(x + ((top + down.begin) * plane.width + left + across.begin) * kLanes, room);
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        best[lane] = first[lane];
        where[lane] = static_cast<int32_t>(down.begin * plane.kernel_w + across.begin);
      }
      for (int64_t p = down.begin; p < down.end; ++p) {
        for (int64_t q = across.begin; q < across.end; ++q) {
          const T* at = widened<kLanes>(x + ((top + p) * plane.width + left + q) * kLanes, room);
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
      T* to = y.place(y_at, room);
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        to[lane] = best[lane];
        position[lane] = where[lane];
      }
      y.store(y_at, kLanes, room);
    }
  }
}

/// Rows of one plane of d_x: in d_x or, if it has 16 bits, in a ring of rows of f32, as many as a window has, which are
/// rounded once no further window adds to them.
template <class T>
class UnpooledRows {
 public:
  /// The plane begins at element `begin` of d_x and has `count` rows of `size` elements. `ring` has room for `kernel_h`
  /// rows; it is null if d_x does not have 16 bits.
  UnpooledRows(const LoopResult<T>& d_x, int64_t begin, int64_t count, int64_t size, T* ring, int64_t kernel_h)
      : d_x_(d_x),
        begin_(begin),
        count_(count),
        size_(size),
        is_ring_(ring != nullptr),
        rows_(is_ring_ ? ring : d_x.place(begin, nullptr)),
        kept_(is_ring_ ? kernel_h : count) {
    std::fill_n(rows_, kept_ * size, T{});
  }

  /// Returns row `index`, which is not complete. In a ring, it is one of the `kernel_h` rows from `first()` on.
  T* row(int64_t index) const {
    const int64_t slot = first_slot_ + index - first_;
    return rows_ + (slot < kept_ ? slot : slot - kept_) * size_;
  }
  /// First row that is not complete.
  int64_t first() const { return first_; }
  /// Completes the rows of a ring before row number `end`.
  void complete_until(int64_t end) {
    for (; is_ring_ && first_ < std::min(end, count_); ++first_) {
      d_x_.store(begin_ + first_ * size_, size_, row(first_));
      std::fill_n(row(first_), size_, T{});
      first_slot_ = first_slot_ + 1 == kept_ ? 0 : first_slot_ + 1;
    }
  }
  void complete() { complete_until(count_); }

 private:
  LoopResult<T> d_x_;
  int64_t begin_, count_, size_;
  bool is_ring_;
  T* rows_;
  int64_t kept_, first_ = 0, first_slot_ = 0;
};

template <class Y, int64_t kLanes>
void unpool_plane_max_pool(const Plane& plane, const Y* d_y, const int32_t* position, UnpooledRows<Computed<Y>>& rows) {
  using T = Computed<Y>;
  alignas(64) T room[kLanes];
  for (int64_t row = 0; row < plane.rows; ++row) {
    const int64_t top = row * plane.stride_h - plane.pad_h;
    rows.complete_until(top);
    for (int64_t column = 0; column < plane.columns; ++column, d_y += kLanes, position += kLanes) {
      const int64_t left = column * plane.stride_w - plane.pad_w;
      const T* gradient = widened<kLanes>(d_y, room);
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const int64_t at_row = top + position[lane] / plane.kernel_w,
                      at_column = left + position[lane] % plane.kernel_w;
        // A shard also has windows whose largest element is on a neighbour.
        if (at_row < rows.first() || at_row >= plane.height || at_column < 0 || at_column >= plane.width) continue;
        rows.row(at_row)[at_column * kLanes + lane] += gradient[lane];
      }
    }
  }
  rows.complete();
}

template <class X, int64_t kLanes>
LoopFn bind_pool(const KernelQuery& query) {
  const Plane plane = plane_of(query.attrs.as<MaxPoolAttrs>(), query.inputs[0].shape, query.outputs[0].shape);
  const int64_t planes = planes_of(query.inputs[0].shape, kLanes);
  const int64_t in_size = plane.height * plane.width * kLanes, out_size = plane.rows * plane.columns * kLanes;
  return [=, type = query.outputs[0].dtype](auto in, auto out, void*) {
    const X* x = static_cast<const X*>(in[0]);
    const LoopResult<Computed<X>> y(out[0], type);
    int32_t* position = static_cast<int32_t*>(out[1]);
#pragma omp parallel for if (planes * in_size > kSerialElements)
    for (int64_t i = 0; i < planes; ++i) {
      pool_plane_max_pool<X, kLanes>(plane, x + i * in_size, y, i * out_size, position + i * out_size);
    }
  };
}

Plane unpooled_plane(const KernelQuery& query) {
  return plane_of(query.attrs.as<MaxPoolGradAttrs>(), query.outputs[0].shape, query.inputs[0].shape);
}

/// Bytes of one thread's ring of rows (`UnpooledRows`).
int64_t ring_bytes(const KernelQuery& query, int64_t lanes) {
  if (query.op != "max_pool_grad" || !is_half(query.outputs[0].dtype)) return 0;
  const Plane plane = unpooled_plane(query);
  return plane.kernel_h * plane.width * lanes * static_cast<int64_t>(sizeof(float));
}

template <class Y, int64_t kLanes>
LoopFn bind_unpool(const KernelQuery& query, int64_t scratch_bytes) {
  const Plane plane = unpooled_plane(query);
  const int64_t planes = planes_of(query.outputs[0].shape, kLanes);
  const int64_t row_size = plane.width * kLanes, out_size = plane.rows * plane.columns * kLanes;
  const int64_t in_size = plane.height * row_size, ring = ring_bytes(query, kLanes);
  const int threads = ring == 0 ? omp_get_max_threads() : threads_within(ring, scratch_bytes);
  return [=, type = query.outputs[0].dtype](auto in, auto out, void* scratch) {
    using T = Computed<Y>;
    const Y* d_y = static_cast<const Y*>(in[0]);
    const int32_t* position = static_cast<const int32_t*>(in[1]);
    const LoopResult<T> d_x(out[0], type);
#pragma omp parallel for num_threads(threads) if (planes * in_size > kSerialElements)
    for (int64_t i = 0; i < planes; ++i) {
      T* rows = ring == 0 ? nullptr : static_cast<T*>(scratch) + omp_get_thread_num() * plane.kernel_h * row_size;
      UnpooledRows<T> unpooled(d_x, i * in_size, plane.height, row_size, rows, plane.kernel_h);
      unpool_plane_max_pool<Y, kLanes>(plane, d_y + i * out_size, position + i * out_size, unpooled);
    }
  };
}

template <class X, int64_t kLanes>
LoopFn bind_max_pool(const KernelQuery& query, int64_t scratch_bytes) {
  return query.op == "max_pool" ? bind_pool<X, kLanes>(query) : bind_unpool<X, kLanes>(query, scratch_bytes);
}

KernelChoice propose_max_pool(const KernelQuery& query) {
  const std::string reason = unsupported_by_loops(query, {.operands = {0}, .results = {0}});
  if (!reason.empty()) return refuse(reason);
  if (query.outputs[0].elements() == 0) return refuse("empty");
  KernelChoice choice{.kernel = "loops.max_pool",
                      .inputs = std::vector<MemoryFormat>(query.inputs.size()),
                      .outputs = std::vector<MemoryFormat>(query.outputs.size())};
  // The gradient has the memory format of its positions, which cannot be reordered.
  const size_t leader = query.inputs.size() - 1;
  const Type leader_type{query.inputs[0].dtype, query.inputs[leader].shape};
  const int64_t lanes = lanes_of(leader_type, query.input_formats[leader]);
  choice.scratch_bytes = omp_get_max_threads() * ring_bytes(query, std::max<int64_t>(lanes, 1));
  if (lanes == 0) return choice;
  const std::string& tag = query.input_formats[leader].tag;
  for (size_t i = 0; i < query.inputs.size(); ++i) choice.inputs[i] = blocked(query.inputs[i], tag, lanes);
  for (size_t k = 0; k < query.outputs.size(); ++k) choice.outputs[k] = blocked(query.outputs[k], tag, lanes);
  return choice;
}

}  // namespace

std::vector<KernelDef> max_pool_kernels() {
  KernelDef def{.name = "loops.max_pool", .ops = {"max_pool", "max_pool_grad"}, .propose = propose_max_pool};
  def.mixes_halves = true;
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    const Type& x = query.inputs[0];
    if (x.dtype == DType::f64) return make_loop(bind_max_pool<double, 1>(query, 0));
    const int64_t lanes = lanes_of(x, choice.inputs[0]);
    LoopFn run;
    for_narrow_float(x.dtype, [&](auto zero) {
      using X = decltype(zero);
      run = lanes == 16  ? bind_max_pool<X, 16>(query, choice.scratch_bytes)
            : lanes == 8 ? bind_max_pool<X, 8>(query, choice.scratch_bytes)
                         : bind_max_pool<X, 1>(query, choice.scratch_bytes);
    });
    return make_loop(std::move(run));
  };
  return {def};
}

}  // namespace partita
