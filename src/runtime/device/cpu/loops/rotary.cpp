// Rotary position embedding over dense rows.

#include "ir/ops/attention/rotations.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kRotary = "loops.rotary";

template <class T>
LoopFn bind_rotary(const RotaryAttrs& attrs, const Type& type) {
  const int64_t heads = attrs.heads, positions = type.shape[type.rank() - 2], width = type.shape.back() / heads;
  const int64_t rows = type.elements() / (heads * width), pairs = width / 2;
  return [=, rotations = Rotations<T>(attrs, positions, pairs)](auto in, auto out, void*) {
    const T* x = static_cast<const T*>(in[0]);
    T* y = static_cast<T*>(out[0]);
#pragma omp parallel for if (rows * heads * width > kSerialElements)
    for (int64_t row = 0; row < rows; ++row) {
      const T *cosine = rotations.cosine(row % positions), *sine = rotations.sine(row % positions);
      for (int64_t head = row * heads; head < (row + 1) * heads; ++head) {
        const T *first = x + head * width, *second = first + pairs;
        T* to = y + head * width;
#pragma omp simd
        for (int64_t i = 0; i < pairs; ++i) {
          const T a = first[i], b = second[i];
          to[i] = a * cosine[i] - b * sine[i];
          to[pairs + i] = b * cosine[i] + a * sine[i];
        }
      }
    }
  };
}

KernelChoice propose_rotary(const KernelQuery& query) {
  if (std::string reason = unsupported_by_loops(query); !reason.empty()) return refuse(reason);
  if (query.inputs[0].elements() == 0) return refuse("empty");
  return propose_dense(kRotary, query, {{0, 0}});
}

std::unique_ptr<Kernel> make_rotary(const KernelQuery& query, const KernelChoice&) {
  const auto& attrs = query.attrs.as<RotaryAttrs>();
  std::unique_ptr<Kernel> kernel;
  for_loop_type(query.inputs[0].dtype,
                [&](auto zero) { kernel = make_loop(bind_rotary<decltype(zero)>(attrs, query.inputs[0])); });
  return kernel;
}

}  // namespace

std::vector<KernelDef> rotary_kernels() { return {{kRotary, {"rotary"}, propose_rotary, make_rotary}}; }

}  // namespace partita
