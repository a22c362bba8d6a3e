#pragma once
// What the vectorised loops share: which layouts they take, and when a loop is worth a second thread.

#include "device/kernel.h"

namespace partita {

/// Elements below which a loop stays on one thread: starting a team costs some microseconds.
inline constexpr int64_t kSerialElements = 16384;

/// f32 or f64 for the first operand, or the reason why not.
std::string unsupported_by_loops(const KernelQuery& query);

/// Accepts f32 and f64, with all operands and results dense.
KernelChoice propose_dense(std::string name, const KernelQuery& query, std::vector<std::pair<int, int>> in_place = {});

/// The layout in which pointwise loops run: the first that is neither plain nor free, else plain.
Layout common_layout(const KernelQuery& query, size_t operands);

/// Elements of a type in a layout, padding included.
int64_t stored_elements(const Type& type, const Layout& layout);

/// Calls fn(zero of float or double).
template <class Fn>
void for_loop_type(DType dtype, Fn&& fn) {
  if (dtype == DType::f64) return fn(double{});
  fn(float{});
}

/// A kernel from a function of its pointers.
using LoopFn = std::function<void(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch)>;
std::unique_ptr<Kernel> make_loop(LoopFn fn);

}  // namespace partita
