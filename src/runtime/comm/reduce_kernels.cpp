// Each block is small enough for the first-level cache and is finished before the next one begins, so every element
// crosses the memory bus once in each direction. Inside a block several sources are combined per pass, which saves
// passes over the accumulator and keeps the order.

#include "runtime/comm/reduce_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/native_half.h"
#include "base/rounding.h"
#include "base/subnormals.h"

namespace partita {
namespace {

constexpr size_t kBlockBytes = 16 * 1024;

/// The type in which contributions are combined: unsigned for integers, because signed overflow is undefined.
template <class T, bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>>
struct Accumulator {
  using type = std::conditional_t<std::is_same_v<T, bool>, uint8_t, std::conditional_t<sizeof(T) == 2, float, T>>;
};
template <class T>
struct Accumulator<T, true> {
  using type = std::make_unsigned_t<T>;
};

// The conversions of base/dtype.h without branches and calls, which would prevent vectorization.
template <class T>
inline typename Accumulator<T>::type load(const T& value) {
  if constexpr (std::is_same_v<T, f16>) {
    return static_cast<float>(std::bit_cast<NativeHalf>(value.bits));
  } else {
    return static_cast<typename Accumulator<T>::type>(value);
  }
}

template <class T>
requires(!std::is_same_v<T, typename Accumulator<T>::type>) inline void store(T& place,
                                                                              typename Accumulator<T>::type value) {
  if constexpr (std::is_same_v<T, f16>) {
    place.bits = std::bit_cast<uint16_t>(static_cast<NativeHalf>(value));
  } else if constexpr (std::is_same_v<T, bf16>) {
    place.bits = bf16_bits(std::bit_cast<uint32_t>(value));
  } else {
    place = static_cast<T>(value);
  }
}

template <class A>
inline void store(A& place, std::type_identity_t<A> value) {
  place = value;
}

struct Sum {
  static constexpr size_t kSourcesPerPass = 4;

  template <class T>
  static auto combine(typename Accumulator<T>::type total, typename Accumulator<T>::type next) {
    if constexpr (std::is_same_v<T, bool>)
      return static_cast<uint8_t>(total | next);
    else
      return static_cast<typename Accumulator<T>::type>(total + next);
  }
};

/// Whether a < b, signed integers compared as signed. False if one of them is NaN.
template <class T, class A>
inline bool less(A a, A b) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return static_cast<T>(a) < static_cast<T>(b);
  } else {
    return a < b;
  }
}

template <class A>
inline bool is_nan(A value) {
  return value != value;
}

struct Max {
  static constexpr size_t kSourcesPerPass = 1;

  template <class T>
  static auto combine(typename Accumulator<T>::type total, typename Accumulator<T>::type next) {
    return less<T>(total, next) || is_nan(next) ? next : total;
  }
};

struct Min {
  static constexpr size_t kSourcesPerPass = 1;

  template <class T>
  static auto combine(typename Accumulator<T>::type total, typename Accumulator<T>::type next) {
    return less<T>(next, total) || is_nan(next) ? next : total;
  }
};

/// Combines elements [base, base + length) of the first `kSources` sources, in order, and stores the results from
/// `target[0]` on. Unless `kFirst`, they follow the contributions that `total[0]` and so on already hold.
template <class T, class Op, size_t kSources, bool kFirst, class Target>
void one_pass(std::span<const void* const> sources, int64_t base, int64_t length,
              const typename Accumulator<T>::type* total, Target* target) {
  std::array<const T*, kSources> next;
  for (size_t r = 0; r < kSources; ++r) next[r] = static_cast<const T*>(sources[r]) + base;
#pragma omp simd
  for (int64_t i = 0; i < length; ++i) {
    auto sum = load(next[0][i]);
    if constexpr (!kFirst) sum = Op::template combine<T>(total[i], sum);
    for (size_t r = 1; r < kSources; ++r) sum = Op::template combine<T>(sum, load(next[r][i]));
    store(target[i], sum);
  }
}

template <class T, class Op>
class BlockReducer {
 public:
  static constexpr int64_t kLength = kBlockBytes / sizeof(typename Accumulator<T>::type);

  /// Combines elements [base, base + length) of all sources, in order, and stores them from `target[0]` on. `length` is
  /// at most `kLength`.
  void reduce(std::span<const void* const> sources, int64_t base, int64_t length, T* target) {
    bool is_first = true;
    while (!sources.empty()) {
      const size_t taken = per_pass(sources.size());
      const bool is_last = taken == sources.size();
      switch (taken) {
        case 4: pass<4>(sources, base, length, is_first, is_last ? target : nullptr); break;
        case 2: pass<2>(sources, base, length, is_first, is_last ? target : nullptr); break;
        default: pass<1>(sources, base, length, is_first, is_last ? target : nullptr);
      }
      is_first = false;
      sources = sources.subspan(taken);
    }
  }

 private:
  static size_t per_pass(size_t left) {
    const size_t most = std::min(left, Op::kSourcesPerPass);
    return most >= 4 ? 4 : most >= 2 ? 2 : 1;
  }

  /// Combines the first `kSources` sources, after the contents of the accumulator unless `is_first`. Stores to
  /// `target`, or to the accumulator if `target` is null.
  template <size_t kSources>
  void pass(std::span<const void* const> sources, int64_t base, int64_t length, bool is_first, T* target) {
    if constexpr (kSources <= Op::kSourcesPerPass) {
      const auto run = [&](auto* place) {
        if (is_first) {
          one_pass<T, Op, kSources, true>(sources, base, length, total_, place);
        } else {
          one_pass<T, Op, kSources, false>(sources, base, length, total_, place);
        }
      };
      if (target != nullptr)
        run(target);
      else
        run(total_);
    }
  }

  alignas(64) typename Accumulator<T>::type total_[kLength];
};

/// Combines elements [begin, end) of two sources and stores them to `result` and to `copy`, in one pass.
template <class T, class Op>
void reduce_pair(const T* first, const T* second, T* result, T* copy, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const auto sum = Op::template combine<T>(load(first[i]), load(second[i]));
    store(result[i], sum);
    store(copy[i], sum);
  }
}

template <class T, class Op>
void reduce_typed(std::span<const void* const> sources, std::span<void* const> results, int64_t begin, int64_t end) {
  if (sources.size() == 2 && results.size() == 2) {
    return reduce_pair<T, Op>(static_cast<const T*>(sources[0]), static_cast<const T*>(sources[1]),
                              static_cast<T*>(results[0]), static_cast<T*>(results[1]), begin, end);
  }
  BlockReducer<T, Op> reducer;
  for (int64_t base = begin; base < end; base += reducer.kLength) {
    const int64_t length = std::min(reducer.kLength, end - base);
    T* combined = static_cast<T*>(results[0]) + base;
    reducer.reduce(sources, base, length, combined);
    for (size_t r = 1; r < results.size(); ++r) {
      std::memcpy(static_cast<T*>(results[r]) + base, combined, length * sizeof(T));
    }
  }
}

}  // namespace

void reduce_elements(std::span<const void* const> sources, std::span<void* const> results, int64_t begin, int64_t end,
                     DType dtype, Reduce reduce) {
  const SubnormalScope scope(subnormals_of(dtype));
  for_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    switch (reduce) {
      case Reduce::sum: return reduce_typed<T, Sum>(sources, results, begin, end);
      case Reduce::max: return reduce_typed<T, Max>(sources, results, begin, end);
      case Reduce::min: return reduce_typed<T, Min>(sources, results, begin, end);
      case Reduce::none: throw InternalError("[reduce_elements] no reduction given");
    }
  });
}

}  // namespace partita
