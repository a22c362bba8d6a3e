#pragma once
// The compiler's own 16-bit floating-point type.

namespace partita {

#if defined(__ARM_FP16_FORMAT_IEEE)
using NativeHalf = __fp16;  // g++ before 13 has _Float16 on Arm in C alone
#elif defined(__FLT16_MANT_DIG__)
using NativeHalf = _Float16;
#else
#error "no 16-bit floating-point type: g++ 12 or clang 16 on x86-64 or 64-bit Arm has one"
#endif

}  // namespace partita
