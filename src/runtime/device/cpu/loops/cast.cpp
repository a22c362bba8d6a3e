// Casts between floats. Those to 16 bits round to nearest, ties to even.

#include <algorithm>

#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kCast = "loops.cast";
constexpr int64_t kCastBlock = 4096;

template <class From, class To>
LoopFn bind_cast(int64_t count) {
  return [=](auto in, auto out, void*) {
    const auto* x = static_cast<const From*>(in[0]);
    auto* y = static_cast<To*>(out[0]);
#pragma omp parallel for if (count > kSerialElements)
    for (int64_t begin = 0; begin < count; begin += kCastBlock) {
      convert_elements(x + begin, y + begin, std::min(kCastBlock, count - begin));
    }
  };
}

}  // namespace

std::vector<KernelDef> cast_kernels() {
  KernelDef def{.name = kCast, .ops = {"cast"}};
  def.mixes_halves = true;
  def.propose = [](const KernelQuery& query) {
    for (const Type& type : {query.inputs[0], query.outputs[0]}) {
      if (!is_float(type.dtype)) return refuse(fmt::format("{} is not supported", name_of(type.dtype)));
    }
    const MemoryFormat format = common_format(query, 1);  // zeros that pad a format stay zeros
    return KernelChoice{.kernel = kCast, .inputs = {format}, .outputs = {format}};
  };
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    LoopFn loop;
    const int64_t count = stored_elements(query.inputs[0], choice.inputs[0]);
    for_float(query.inputs[0].dtype, [&](auto from) {
      for_float(query.outputs[0].dtype, [&](auto to) { loop = bind_cast<decltype(from), decltype(to)>(count); });
    });
    return make_loop(std::move(loop));
  };
  return {def};
}

}  // namespace partita
