#pragma once
// What the vectorised loops share: which memory formats they take, and when a loop is worth a second thread.

#include "runtime/device/kernel.h"

namespace partita {

/// Elements below which a loop stays on one thread: starting a team costs some microseconds.
inline constexpr int64_t kSerialElements = 16384;

/// Into how many ranges a sum over rows is cut. Each is summed by one thread and the ranges are added in order, so that
/// the bits do not depend on the number of threads.
int64_t ranges_of(int64_t rows);
/// The first row of a range; that of range `ranges` is `rows`.
inline int64_t range_begin(int64_t rows, int64_t ranges, int64_t range) { return rows * range / ranges; }

/// How many threads have room for `own` bytes each in a kernel's scratch, at most those that the calling thread may
/// use.
int threads_within(int64_t own, int64_t scratch_bytes);

/// f32 or f64 for the first operand, or the reason why not.
std::string unsupported_by_loops(const KernelQuery& query);

/// Accepts f32 and f64, with all operands and results dense.
KernelChoice propose_dense(std::string name, const KernelQuery& query, std::vector<std::pair<int, int>> in_place = {});

/// The memory format in which pointwise loops run: the first that is neither plain nor free, else plain.
MemoryFormat common_format(const KernelQuery& query, size_t operands);

/// Elements of a type in a memory format, padding included.
int64_t stored_elements(const Type& type, const MemoryFormat& format);

/// Calls fn(zero of float or double).
template <class Fn>
void for_loop_type(DType dtype, Fn&& fn) {
  if (dtype == DType::f64) return fn(double{});
  fn(float{});
}

/// A kernel from a function of its pointers.
using LoopFn = std::function<void(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch)>;
std::unique_ptr<Kernel> make_loop(LoopFn fn);

/// For an f64 kernel that multiplies by zeros what the reference leaves out, which is NaN when it is infinite or NaN:
/// the reference runs instead when one of these operands is not finite throughout.
std::unique_ptr<Kernel> unless_infinite(std::unique_ptr<Kernel> fast, const KernelQuery& query,
                                        std::vector<size_t> operands);

}  // namespace partita
