#pragma once
// The gates of gru, and the functions of one row of a step that its kernels share.

#include "base/vector_math.h"
#include "ir/ops/recurrent/steps.h"

namespace partita {

/// The gates of a step, in this order: reset, update, the new state.
enum GruGate { kGruReset, kGruUpdate, kGruNew, kGruGates };

/// Replaces the weighted inputs of a row's gates by their values, and computes the row of the states from that of the
/// states before and its weighted sums. `fresh`: the weighted state of the new state's gate, with its bias.
template <class T>
[[gnu::flatten]] void compute_gru_row(int64_t size, const T* weighted, const T* bias, const T* before, T* gates,
                                      T* fresh, T* state) {
  T *reset = gates, *update = gates + size, *candidate = gates + 2 * size;
#pragma omp simd
  for (int64_t z = 0; z < size; ++z) {
    const T own = weighted[2 * size + z] + bias[z];
    const T r = sigmoid_of(reset[z] + weighted[z]), u = sigmoid_of(update[z] + weighted[size + z]);
    const T n = tanh_of(candidate[z] + r * own);
    reset[z] = r;
    update[z] = u;
    candidate[z] = n;
    fresh[z] = own;
    state[z] = n + u * (before[z] - n);
  }
}

/// Computes the gradients of the weighted inputs of a row's gates, `d_gates`, and of its weighted states, `d_weighted`,
/// from that of the state, which it replaces by the part that reaches the state before without weights.
template <class T>
[[gnu::flatten]] void differentiate_gru_row(int64_t size, const T* gates, const T* fresh, const T* before, T* d_state,
                                            T* d_gates, T* d_weighted) {
  const T *reset = gates, *update = gates + size, *candidate = gates + 2 * size;
#pragma omp simd
  for (int64_t z = 0; z < size; ++z) {
    const T d = d_state[z], r = reset[z], u = update[z], n = candidate[z];
    const T d_n = d * (1 - u) * (1 - n * n), d_r = d_n * fresh[z] * r * (1 - r),
            d_u = d * (before[z] - n) * u * (1 - u);
    d_gates[z] = d_r;
    d_gates[size + z] = d_u;
    d_gates[2 * size + z] = d_n;
    d_weighted[z] = d_r;
    d_weighted[size + z] = d_u;
    d_weighted[2 * size + z] = d_n * r;
    d_state[z] = d * u;
  }
}

}  // namespace partita
