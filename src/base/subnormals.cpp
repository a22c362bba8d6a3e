#include "base/subnormals.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace partita {
namespace {

#if defined(__x86_64__)
constexpr uint64_t kFlush = 0x8000 | 0x0040;  // FTZ (results) and DAZ (operands) of MXCSR
uint64_t read_control() { return _mm_getcsr(); }
void write_control(uint64_t control) { _mm_setcsr(static_cast<uint32_t>(control)); }
#elif defined(__aarch64__)
constexpr uint64_t kFlush = uint64_t{1} << 24;  // FZ of FPCR: operands and results; f16 has a separate bit
uint64_t read_control() {
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
void write_control(uint64_t control) { asm volatile("msr fpcr, %0" : : "r"(control)); }
#else
constexpr uint64_t kFlush = 0;
uint64_t read_control() { return 0; }
void write_control(uint64_t) {}
#endif

}  // namespace

std::optional<Subnormals> subnormals_of(DType dtype) {
  if (!is_float(dtype)) return std::nullopt;
  return dtype == DType::f64 ? Subnormals::keep : Subnormals::flush;
}

std::optional<Subnormals> subnormals_of_both(std::optional<Subnormals> a, std::optional<Subnormals> b) {
  if (!a || !b) return a ? a : b;
  return *a == Subnormals::keep ? a : b;
}

SubnormalSetting::SubnormalSetting(Subnormals subnormals) : bits_(subnormals == Subnormals::flush ? kFlush : 0) {}

SubnormalSetting SubnormalSetting::current() { return SubnormalSetting(read_control() & kFlush); }

void SubnormalSetting::apply() const {
  const uint64_t control = read_control();
  if ((control & kFlush) != bits_) write_control((control & ~kFlush) | bits_);
}

}  // namespace partita
