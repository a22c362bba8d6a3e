#pragma once
// The gates of lstm, and the functions of one row of a step that its kernels share.

#include "base/vector_math.h"
#include "ir/ops/recurrent/steps.h"

namespace partita {

/// The gates of a step, in this order: input, forget, the new cell, output.
enum LstmGate { kLstmInput, kLstmForget, kLstmCell, kLstmOutput, kLstmGates };

/// Replaces the sums of a row's gates by their values, and computes the row of the cells and of the states from that of
/// the cells before.
template <class T>
[[gnu::flatten]] void compute_lstm_row(int64_t size, T* gates, const T* cell_before, T* cell, T* state) {
  T *input = gates, *forget = gates + size, *fresh = gates + 2 * size, *output = gates + 3 * size;
#pragma omp simd
  for (int64_t z = 0; z < size; ++z) {
    const T i = sigmoid_of(input[z]), f = sigmoid_of(forget[z]), g = tanh_of(fresh[z]), o = sigmoid_of(output[z]);
    const T c = f * cell_before[z] + i * g;
    input[z] = i;
    forget[z] = f;
    fresh[z] = g;
    output[z] = o;
    cell[z] = c;
    state[z] = o * tanh_of(c);
  }
}

/// Computes the gradients of the sums of a row's gates from those of the state, and replaces the gradient of the cell
/// that the later step gave by that of the cell before.
template <class T>
[[gnu::flatten]] void differentiate_lstm_row(int64_t size, const T* gates, const T* cell_before, const T* cell,
                                             const T* d_state, const T* d_cell, T* carried, T* d_gates) {
  const T *input = gates, *forget = gates + size, *fresh = gates + 2 * size, *output = gates + 3 * size;
#pragma omp simd
  for (int64_t z = 0; z < size; ++z) {
    const T i = input[z], f = forget[z], g = fresh[z], o = output[z], t = tanh_of(cell[z]);
    const T d_c = d_cell[z] + carried[z] + d_state[z] * o * (1 - t * t);
    d_gates[z] = d_c * g * i * (1 - i);
    d_gates[size + z] = d_c * cell_before[z] * f * (1 - f);
    d_gates[2 * size + z] = d_c * i * (1 - g * g);
    d_gates[3 * size + z] = d_state[z] * t * o * (1 - o);
    carried[z] = d_c * f;
  }
}

}  // namespace partita
