// x + bias along an axis, on dense tensors and on those with channels, or blocks of channels, innermost.

#include <algorithm>

#include "ir/ops/elementwise/attrs.h"
#include "runtime/device/cpu/loops/blocks.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

int64_t axis_of(const KernelQuery& query) { return query.attrs.as<BiasAddAttrs>().axis; }

template <class T>
LoopFn bind_plain(const Type& x, int64_t axis) {
  const Shape strides = strides_of(x.shape);
  const int64_t size = x.shape[axis], inner = strides[axis], rows = inner > 0 && size > 0 ? x.elements() / inner : 0;
  const bool parallel = x.elements() > kSerialElements;
  if (inner == 1) {  // the bias is along the rows
    return [=, outer = rows / std::max<int64_t>(size, 1)](auto in, auto out, void*) {
      const T *from = static_cast<const T*>(in[0]), *bias = static_cast<const T*>(in[1]);
      T* to = static_cast<T*>(out[0]);
#pragma omp parallel for if (parallel)
      for (int64_t row = 0; row < outer; ++row) {
#pragma omp simd
        for (int64_t i = 0; i < size; ++i) to[row * size + i] = from[row * size + i] + bias[i];
      }
    };
  }
  return [=](auto in, auto out, void*) {
    const T *from = static_cast<const T*>(in[0]), *bias = static_cast<const T*>(in[1]);
    T* to = static_cast<T*>(out[0]);
#pragma omp parallel for if (parallel)
    for (int64_t row = 0; row < rows; ++row) {
      const T shift = bias[row % size];
#pragma omp simd
      for (int64_t i = 0; i < inner; ++i) to[row * inner + i] = from[row * inner + i] + shift;
    }
  };
}

/// Binds a loop over blocks of channels. Lanes of the last block that have no channel get no bias, so they stay zero.
LoopFn bind_blocked(const Type& x, int64_t block) {
  const int64_t channels = x.shape[1], blocks = (channels + block - 1) / block, plane = x.shape[2] * x.shape[3];
  return [=, rows = x.shape[0] * blocks](auto in, auto out, void*) {
    const float *from = static_cast<const float*>(in[0]), *bias = static_cast<const float*>(in[1]);
    float* to = static_cast<float*>(out[0]);
#pragma omp parallel for if (rows * plane * block > kSerialElements)
    for (int64_t row = 0; row < rows; ++row) {
      float shift[kMaxLanes] = {};
      const int64_t first = row % blocks * block;
      for (int64_t lane = 0; lane < block && first + lane < channels; ++lane) shift[lane] = bias[first + lane];
      for (int64_t i = 0; i < plane; ++i) {
        const int64_t at = (row * plane + i) * block;
#pragma omp simd
        for (int64_t lane = 0; lane < block; ++lane) to[at + lane] = from[at + lane] + shift[lane];
      }
    }
  };
}

KernelChoice propose_bias_add(const KernelQuery& query) {
  if (const std::string reason = unsupported_by_loops(query); !reason.empty()) return refuse(reason);
  MemoryFormat format;
  const MemoryFormat& given = query.input_formats[0];
  const bool innermost = lanes_of(query.inputs[0], given) > 0 || channels_last(query.inputs[0], given);
  if (axis_of(query) == 1 && innermost) format = given;
  return {.kernel = "loops.bias_add", .inputs = {format, MemoryFormat{}}, .outputs = {format}, .in_place = {{0, 0}}};
}

}  // namespace

std::vector<KernelDef> bias_add_kernels() {
  KernelDef def{.name = "loops.bias_add", .ops = {"bias_add"}, .propose = propose_bias_add};
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    Type x = query.inputs[0];
    int64_t axis = axis_of(query);
    const int64_t lanes = lanes_of(x, choice.inputs[0]);
    if (lanes > 0) return make_loop(bind_blocked(x, lanes));
    if (channels_last(x, choice.inputs[0])) {
      x.shape = {x.shape[0], x.shape[2], x.shape[3], x.shape[1]};
      axis = 3;
    }
    return make_loop(x.dtype == DType::f64 ? bind_plain<double>(x, axis) : bind_plain<float>(x, axis));
  };
  return {def};
}

}  // namespace partita
