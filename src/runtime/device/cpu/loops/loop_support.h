#pragma once
// Shared by the vectorised loops: which memory formats they support, and when a loop is worth a second thread.

#include "runtime/device/kernel.h"

namespace partita {

/// Number of elements below which a loop stays on one thread: starting a team costs some microseconds.
inline constexpr int64_t kSerialElements = 16384;

/// Returns the number of ranges, 1 to 64, into which a sum over rows is split. One thread sums each range and the
/// ranges are added in order, so the bits do not depend on the number of threads.
int64_t ranges_of(int64_t rows);
/// First row of a range; `rows` for range number `ranges`.
inline int64_t range_begin(int64_t rows, int64_t ranges, int64_t range) { return rows * range / ranges; }

/// Returns `a` if it is larger, else `b`. GCC vectorizes loops over it, but not those over std::max, which returns a
/// reference.
template <class T>
T larger(T a, T b) {
  return a > b ? a : b;
}

/// Number of threads that have room for `own` bytes each in a kernel's scratch memory, at most those that the calling
/// thread may use; 1 if they need none. Throws InternalError if there is not even room for one.
int threads_within(int64_t own, int64_t scratch_bytes);

/// Whether an operand or a result has 16 bits.
bool has_halves(const KernelQuery& query);

/// Which operands and results of a loop in f32 may have 16 bits: the loop widens and rounds them (halves.h).
/// `f64_operands` and `f64_results` are f64, also next to 16 bits.
struct HalfValues {
  std::vector<size_t> operands, results;
  std::vector<size_t> f64_operands = {}, f64_results = {};
};
/// Returns the reason why the loops do not support a query, "" if they support it. Without 16-bit floats they refuse a
/// first operand, or a result if there are no operands, that is neither f32 nor f64. With 16-bit floats they refuse one
/// that `allowed` does not name, and any other float that is neither f32 nor an f64 that `allowed` names.
std::string unsupported_by_loops(const KernelQuery& query, const HalfValues& allowed = {});
/// Accepts a query that `unsupported_by_loops` does not refuse, with all operands and results dense. The choice has
/// this kernel name and those of these (input, output) pairs, which may share a buffer, that have one type. Refuses
/// others with a reason.
KernelChoice propose_dense(std::string name, const KernelQuery& query, std::vector<std::pair<int, int>> in_place = {},
                           const HalfValues& halves = {});

/// Returns the first of the first `operands` operands whose memory format is neither plain nor "any"; `operands` if
/// there is none.
size_t common_operand(const KernelQuery& query, size_t operands);
/// Returns the memory format in which pointwise loops run: of the first `operands` operands, that of the first one
/// whose format is neither plain nor "any"; plain if there is none.
MemoryFormat common_format(const KernelQuery& query, size_t operands);

/// Returns the number of elements of a type in a memory format other than "any", padding included.
int64_t stored_elements(const Type& type, const MemoryFormat& format);

/// Returns the memory format, which `of` has, for another element type on the same shape.
MemoryFormat format_of_type(const MemoryFormat& format, const Type& of, const Type& type);

/// Calls fn(double{}) for f64, else fn(float{}).
template <class Fn>
void for_loop_type(DType dtype, Fn&& fn) {
  if (dtype == DType::f64) return fn(double{});
  fn(float{});
}

/// Calls fn(bf16{}), fn(f16{}) or else fn(float{}).
template <class Fn>
void for_narrow_float(DType dtype, Fn&& fn) {
  if (dtype == DType::bf16) return fn(bf16{});
  if (dtype == DType::f16) return fn(f16{});
  fn(float{});
}

/// Function that computes the results of a kernel from the pointers of Kernel::run.
using LoopFn = std::function<void(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch)>;
/// Makes a kernel that calls `fn`.
std::unique_ptr<Kernel> make_loop(LoopFn fn);

/// Wraps an f64 kernel that multiplies elements by zeros which the reference skips: infinity or NaN times zero is NaN.
/// The reference kernel runs instead if an operand whose index is in `operands` has an element that is not finite.
std::unique_ptr<Kernel> unless_infinite(std::unique_ptr<Kernel> fast, const KernelQuery& query,
                                        std::vector<size_t> operands);

}  // namespace partita
