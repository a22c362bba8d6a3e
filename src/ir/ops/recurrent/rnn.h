#pragma once
// The attributes of rnn, and the functions of its elements that its kernels share.

#include "base/vector_math.h"
#include "ir/ops/recurrent/steps.h"

namespace partita {

/// `reversed`: the steps are computed from the last one to the first. `relu`: in place of tanh.
struct RnnAttrs {
  bool reversed = false, relu = false;
  static constexpr auto fields() {
    return std::tuple{field("reversed", &RnnAttrs::reversed), field("relu", &RnnAttrs::relu)};
  }
};

/// Replaces `count` sums by their activations.
template <class T>
[[gnu::flatten]] void activate_rnn(int64_t count, bool relu, T* sums) {
  if (relu) {
#pragma omp simd
    for (int64_t z = 0; z < count; ++z) sums[z] = sums[z] > 0 || sums[z] != sums[z] ? sums[z] : T{};
  } else {
#pragma omp simd
    for (int64_t z = 0; z < count; ++z) sums[z] = tanh_of(sums[z]);
  }
}

/// Computes the gradients of `count` sums from those of their activations.
template <class T>
void differentiate_rnn(int64_t count, bool relu, const T* states, const T* d_states, T* d_sums) {
  if (relu) {
#pragma omp simd
    for (int64_t z = 0; z < count; ++z) d_sums[z] = states[z] <= 0 ? T{} : d_states[z];
  } else {
#pragma omp simd
    for (int64_t z = 0; z < count; ++z) d_sums[z] = d_states[z] * (1 - states[z] * states[z]);
  }
}

}  // namespace partita
