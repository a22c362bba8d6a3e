// Whether a tensor has only finite elements, by the bits of the elements.

#include <algorithm>

#include "base/finite.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kAllFinite = "loops.all_finite";
constexpr int64_t kFiniteBlock = 4096;

template <class T>
LoopFn bind_all_finite(DType dtype, int64_t count) {
  return [=](auto in, auto out, void*) {
    const T* x = static_cast<const T*>(in[0]);
    bool good = true;
#pragma omp parallel for reduction(&& : good) if (count > kSerialElements)
    for (int64_t begin = 0; begin < count; begin += kFiniteBlock) {
      good = good && are_finite(dtype, x + begin, std::min(kFiniteBlock, count - begin));
    }
    *static_cast<T*>(out[0]) = good ? 1 : 0;
  };
}

}  // namespace

std::vector<KernelDef> all_finite_kernels() {
  KernelDef def{.name = kAllFinite, .ops = {"all_finite"}};
  def.propose = [](const KernelQuery& query) {
    KernelChoice choice = propose_dense(kAllFinite, query);
    // Elements that pad a blocked format may hold anything.
    const MemoryFormat& format = query.input_formats[0];
    const bool is_full = !format.any() && stored_elements(query.inputs[0], format) == query.inputs[0].elements();
    if (!choice.inputs.empty() && is_full) choice.inputs[0] = format;
    return choice;
  };
  def.make = [](const KernelQuery& query, const KernelChoice&) {
    LoopFn loop;
    const Type& type = query.inputs[0];
    for_loop_type(type.dtype, [&](auto zero) { loop = bind_all_finite<decltype(zero)>(type.dtype, type.elements()); });
    return make_loop(std::move(loop));
  };
  return {def};
}

}  // namespace partita
