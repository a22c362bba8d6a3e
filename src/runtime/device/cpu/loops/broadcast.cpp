// broadcast_to and constant: runs of one value, and copies of rows.

#include <algorithm>

#include "ir/ops/shape/attrs.h"
#include "ir/ops/support.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kBroadcast = "loops.broadcast";

/// How x is read over the output. Dimensions are merged where x is contiguous; the stride of the last one is 0 or 1.
struct Repeat {
  Shape shape{1}, strides{0};

  /// Returns the index in x for the first element of run number `outer`: a run has the output's elements along its last
  /// dimension.
  int64_t begin(int64_t outer) const {
    int64_t at = 0;
    for (size_t d = shape.size() - 1; d-- > 0; outer /= shape[d]) at += outer % shape[d] * strides[d];
    return at;
  }
};

Repeat repeat_of(const Shape& x, const Shape& out) {
  const Shape strides = broadcast_strides(x, out);
  Repeat result;
  for (size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 1) continue;
    const bool first = result.shape.back() == 1;
    if (!first && result.strides.back() != strides[d] * out[d]) {
      result.shape.push_back(1);
      result.strides.push_back(0);
    }
    result.shape.back() *= out[d];
    result.strides.back() = strides[d];
  }
  return result;
}

template <class T>
LoopFn bind_repeat(const Repeat& over) {
  const int64_t inner = over.shape.back(), rows = elements(over.shape) / inner;
  return [=](auto in, auto out, void*) {
    const T* x = static_cast<const T*>(in[0]);
    T* y = static_cast<T*>(out[0]);
#pragma omp parallel for if (rows * inner > kSerialElements)
    for (int64_t row = 0; row < rows; ++row) {
      const T* from = x + over.begin(row);
      over.strides.back() == 0 ? std::fill_n(y + row * inner, inner, *from) : std::copy_n(from, inner, y + row * inner);
    }
  };
}

template <class T>
LoopFn bind_fill(T value, int64_t count) {
  return [=](auto, auto out, void*) {
    T* y = static_cast<T*>(out[0]);
#pragma omp parallel for simd if (parallel : count > kSerialElements)
    for (int64_t i = 0; i < count; ++i) y[i] = value;
  };
}

}  // namespace

std::vector<KernelDef> broadcast_kernels() {
  KernelDef def{.name = kBroadcast, .ops = {"broadcast_to", "constant"}};
  def.propose = [](const KernelQuery& query) {
    return query.outputs[0].elements() == 0 ? refuse("empty") : propose_dense(kBroadcast, query);
  };
  def.make = [](const KernelQuery& query, const KernelChoice&) {
    const Type& type = query.outputs[0];
    LoopFn loop;
    for_loop_type(type.dtype, [&](auto zero) {
      using T = decltype(zero);
      loop = query.op == "constant" ? bind_fill(static_cast<T>(query.attrs.as<ConstantAttrs>().value), type.elements())
                                    : bind_repeat<T>(repeat_of(query.inputs[0].shape, type.shape));
    });
    return make_loop(std::move(loop));
  };
  return {def};
}

}  // namespace partita
