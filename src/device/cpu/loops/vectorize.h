#pragma once
// What the loop kernels share: operands, layouts in which they meet, and when a loop is worth threads.

#include "device/cpu/layout.h"
#include "device/kernel.h"

namespace partita {

/// Loops over fewer elements stay on the calling thread: waking a team costs about as much.
constexpr int64_t kParallelFrom = int64_t{1} << 15;

struct Operands {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* scratch = nullptr;

  template <class T>
  const T* in(size_t index) const { return static_cast<const T*>(inputs[index]); }
  template <class T>
  T* out(size_t index) const { return static_cast<T*>(outputs[index]); }
};

/// A kernel that is one function, all sizes bound.
std::unique_ptr<Kernel> make_loop(std::function<void(const Operands&)> run);

/// f32 and f64 are taken; "" or why the first operand, or one that differs from it, is not.
/// Operands from `count` on may be of other types.
std::string float_refusal(const KernelQuery& query, size_t count = 1);

/// Calls `fn` with a float or a double zero, by the first operand.
template <class Fn>
auto for_loop_type(const KernelQuery& query, Fn&& fn) {
  return query.inputs[0].dtype == DType::f64 ? fn(double{}) : fn(float{});
}

/// An accepted choice with all operands plain.
KernelChoice accept_plain(const std::string& kernel, const KernelQuery& query);

/// The layout as the operand of another type and the same shape has it: with that type's bytes.
Layout layout_for(const Layout& layout, const Type& type);

/// Where operands of one shape meet: the layout of the first that is not plain, so that a chain of
/// blocked values stays blocked. Padded layouts only if `keeps_zero`: the loop maps zeros to zeros, as
/// padding must be.
Layout meeting_layout(const KernelQuery& query, std::span<const size_t> operands, bool keeps_zero);

/// The same for one operand that must be seen by channels; plain when it cannot be.
Layout channel_layout(const KernelQuery& query, size_t operand);

/// One attribute of an op whose struct is its own affair.
template <class T>
T field_of(const Attrs& attrs, std::string_view name) {
  for (const auto& [field, text] : attrs.texts()) {
    if (field != name) continue;
    T value{};
    from_text(text, value);
    return value;
  }
  throw InternalError(fmt::format("[cpu] no attribute {} in {}", name, attrs.print()));
}

/// fn(lane, constant count) over runs of at most 16 lanes, the counts being 16, 8, 4 and 1: a loop over
/// a constant count stays in registers.
template <class Fn>
void for_lanes(int64_t lanes, Fn&& fn) {
  int64_t lane = 0;
  for (; lane + 16 <= lanes; lane += 16) fn(lane, std::integral_constant<int, 16>{});
  for (; lane + 8 <= lanes; lane += 8) fn(lane, std::integral_constant<int, 8>{});
  for (; lane + 4 <= lanes; lane += 4) fn(lane, std::integral_constant<int, 4>{});
  for (; lane < lanes; ++lane) fn(lane, std::integral_constant<int, 1>{});
}

}  // namespace partita
