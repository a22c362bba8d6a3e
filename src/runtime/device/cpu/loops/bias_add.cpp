// x + bias along an axis, on dense tensors and on those with channels, or blocks of channels, innermost.

#include <algorithm>

#include "ir/ops/elementwise/attrs.h"
#include "runtime/device/cpu/loops/blocks.h"
#include "runtime/device/cpu/loops/halves.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

int64_t axis_of(const KernelQuery& query) { return query.attrs.as<BiasAddAttrs>().axis; }

struct BiasTypes {
  DType x, y;
};

/// Binds a loop over `rows` rows of `size` elements. add(bias, row, first, from, to, count) computes elements `first`
/// to `first + count` of a row.
template <class T, class Add>
LoopFn bind_bias_rows(const BiasTypes& types, int64_t rows, int64_t size, const Add& add) {
  return [=](auto in, auto out, void*) {
    const LoopOperand<T> x(in[0], types.x);
    const LoopResult<T> y(out[0], types.y);
    const T* bias = static_cast<const T*>(in[1]);
#pragma omp parallel for if (rows * size > kSerialElements)
    for (int64_t row = 0; row < rows; ++row) {
      alignas(64) T rooms[2][kHalfBlock];
      for (int64_t first = 0; first < size; first += kHalfBlock) {
        const int64_t count = std::min(kHalfBlock, size - first), at = row * size + first;
        add(bias, row, first, x.read(at, count, rooms[0]), y.place(at, rooms[1]), count);
        y.store(at, count, rooms[1]);
      }
    }
  };
}

template <class T>
LoopFn bind_plain(const BiasTypes& types, const Type& x, int64_t axis) {
  const Shape strides = strides_of(x.shape);
  const int64_t size = x.shape[axis], inner = strides[axis], rows = inner > 0 && size > 0 ? x.elements() / inner : 0;
  if (inner == 1) {  // the bias is along the rows
    return bind_bias_rows<T>(types, rows / std::max<int64_t>(size, 1), size,
                             [](const T* bias, int64_t, int64_t first, const T* from, T* to, int64_t count) {
#pragma omp simd
                               for (int64_t i = 0; i < count; ++i) to[i] = from[i] + bias[first + i];
                             });
  }
  return bind_bias_rows<T>(types, rows, inner,
                           [size](const T* bias, int64_t row, int64_t, const T* from, T* to, int64_t count) {
                             const T shift = bias[row % size];
#pragma omp simd
                             for (int64_t i = 0; i < count; ++i) to[i] = from[i] + shift;
                           });
}

/// Binds a loop over blocks of channels. Lanes of the last block that have no channel get no bias, so they stay zero.
LoopFn bind_blocked(const BiasTypes& types, const Type& x, int64_t block) {
  const int64_t channels = x.shape[1], blocks = (channels + block - 1) / block, plane = x.shape[2] * x.shape[3];
  static_assert(kHalfBlock % kMaxLanes == 0);
  return bind_bias_rows<float>(
      types, x.shape[0] * blocks, plane * block,
      [=](const float* bias, int64_t row, int64_t, const float* from, float* to, int64_t count) {
        float shift[kMaxLanes] = {};
        const int64_t begin = row % blocks * block;
        for (int64_t lane = 0; lane < block && begin + lane < channels; ++lane) shift[lane] = bias[begin + lane];
        for (int64_t at = 0; at < count; at += block) {
#pragma omp simd
          for (int64_t lane = 0; lane < block; ++lane) to[at + lane] = from[at + lane] + shift[lane];
        }
      });
}

KernelChoice propose_bias_add(const KernelQuery& query) {
  KernelChoice choice = propose_dense("loops.bias_add", query, {{0, 0}}, {.operands = {0}, .results = {0}});
  if (!choice.accepted()) return choice;
  const MemoryFormat& given = query.input_formats[0];
  const bool innermost = lanes_of(query.inputs[0], given) > 0 || channels_last(query.inputs[0], given);
  if (axis_of(query) == 1 && innermost) {
    choice.inputs[0] = given;
    choice.outputs[0] = format_of_type(given, query.inputs[0], query.outputs[0]);
  }
  return choice;
}

}  // namespace

std::vector<KernelDef> bias_add_kernels() {
  KernelDef def{.name = "loops.bias_add", .ops = {"bias_add"}, .propose = propose_bias_add};
  def.mixes_halves = true;
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    Type x = query.inputs[0];
    const BiasTypes types{x.dtype, query.outputs[0].dtype};
    int64_t axis = axis_of(query);
    const int64_t lanes = lanes_of(x, choice.inputs[0]);
    if (lanes > 0) return make_loop(bind_blocked(types, x, lanes));
    if (channels_last(x, choice.inputs[0])) {
      x.shape = {x.shape[0], x.shape[2], x.shape[3], x.shape[1]};
      axis = 3;
    }
    return make_loop(x.dtype == DType::f64 ? bind_plain<double>(types, x, axis) : bind_plain<float>(types, x, axis));
  };
  return {def};
}

}  // namespace partita
