// Casts between floats. Those to 16 bits round to nearest, ties to even.

#ifdef __F16C__
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/rounding.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kCast = "loops.cast";
constexpr int64_t kCastBlock = 4096;

void cast_block(const float* x, bf16* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    y[i].bits = bf16_bits(std::bit_cast<uint32_t>(x[i]));
  }
}

void cast_block(const bf16* x, float* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = std::bit_cast<float>(static_cast<uint32_t>(x[i].bits) << 16);
}

#ifdef __F16C__
void cast_block(const float* x, f16* y, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), halves);
  }
  for (; i < count; ++i) y[i] = f16(x[i]);
}

void cast_block(const f16* x, float* y, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
  for (; i < count; ++i) y[i] = x[i];
}
#endif

template <class From, class To>
void cast_block(const From* x, To* y, int64_t count) {
  using Step = std::conditional_t<sizeof(To) == 2, float, To>;
  for (int64_t i = 0; i < count; ++i) y[i] = To(static_cast<Step>(x[i]));
}

template <class From, class To>
LoopFn bind_cast(int64_t count) {
  return [=](auto in, auto out, void*) {
    const auto* x = static_cast<const From*>(in[0]);
    auto* y = static_cast<To*>(out[0]);
#pragma omp parallel for if (count > kSerialElements)
    for (int64_t begin = 0; begin < count; begin += kCastBlock) {
      cast_block(x + begin, y + begin, std::min(kCastBlock, count - begin));
    }
  };
}

}  // namespace

std::vector<KernelDef> cast_kernels() {
  KernelDef def{.name = kCast, .ops = {"cast"}};
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
