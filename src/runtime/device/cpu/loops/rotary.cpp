// Rotary position embedding over dense rows.

#include "ir/ops/attention/rotations.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kRotary = "loops.rotary";

/// Turns the pairs of the heads of one row. `y` may be `x`.
template <class T>
void turn_row(const T* x, T* y, int64_t heads, int64_t pairs, const T* cosine, const T* sine) {
  for (int64_t head = 0; head < heads; ++head, x += 2 * pairs, y += 2 * pairs) {
#pragma omp simd
    for (int64_t i = 0; i < pairs; ++i) {
      const T a = x[i], b = x[pairs + i];
      y[i] = a * cosine[i] - b * sine[i];
      y[pairs + i] = b * cosine[i] + a * sine[i];
    }
  }
}

template <class T>
LoopFn bind_rotary(const RotaryAttrs& attrs, const Type& type, bool are_given) {
  const int64_t heads = attrs.heads, positions = type.shape[type.rank() - 2], width = type.shape.back() / heads;
  const int64_t rows = type.elements() / (heads * width), pairs = width / 2;
  return [=, rotations = Rotations<T>(attrs, positions, pairs)](auto in, auto out, void*) {
    const T* x = static_cast<const T*>(in[0]);
    const int32_t* given = are_given ? static_cast<const int32_t*>(in[1]) : nullptr;
    T* y = static_cast<T*>(out[0]);
#pragma omp parallel if (rows * heads * width > kSerialElements)
    {
      std::vector<T> own(static_cast<size_t>(are_given ? width : 0));
#pragma omp for
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t position = are_given ? given[row] : row % positions;
        const T *cosine = own.data(), *sine = own.data() + pairs;
        if (position >= 0 && position < positions) {
          cosine = rotations.cosine(position);
          sine = rotations.sine(position);
        } else {
          rotations.turn(position, own.data(), own.data() + pairs);
        }
        turn_row(x + row * heads * width, y + row * heads * width, heads, pairs, cosine, sine);
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
  for_loop_type(query.inputs[0].dtype, [&](auto zero) {
    kernel = make_loop(bind_rotary<decltype(zero)>(attrs, query.inputs[0], query.inputs.size() > 1));
  });
  return kernel;
}

}  // namespace

std::vector<KernelDef> rotary_kernels() { return {{kRotary, {"rotary"}, propose_rotary, make_rotary}}; }

}  // namespace partita
