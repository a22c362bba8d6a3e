#pragma once
// NativeHalf: the compiler's own 16-bit floating-point type. It is the struct f16 if the compiler has none.

#include "base/dtype.h"

namespace partita {

#if defined(__ARM_FP16_FORMAT_IEEE)
using NativeHalf = __fp16;  // g++ before 13 has _Float16 on Arm only in C
#elif defined(__FLT16_MANT_DIG__)
using NativeHalf = _Float16;
#else
using NativeHalf = f16;
#endif

}  // namespace partita
