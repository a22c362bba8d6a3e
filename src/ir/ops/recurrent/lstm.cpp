// Long short-term memory (Hochreiter and Schmidhuber, 1997, with the forget gate of Gers et al., 2000) over the steps
// of sequences. The weighted inputs come as an operand, so their product is one for all steps, and is cut as such.

#include "ir/ops/recurrent/lstm.h"

#include "ir/ops/constant.h"
#include "ir/ops/formula_gradient.h"
#include "ir/ops/kernels.h"

namespace partita {
namespace {

constexpr auto kLstm = "lstm";
constexpr auto kLstmGrad = "lstm_grad";

/// The states, cells and gates from the weighted inputs, the weights, and the first state and cell.
std::vector<Value> lstm_formula(const ExpandCall& call) {
  const auto& attrs = call.attrs.as<RecurrentAttrs>();
  const RecurrentSizes sizes(call.inputs[0].type().shape, call.inputs[1].type().shape);
  const RecurrentSteps steps(call, call.inputs[1], sizes);
  Value h = call.inputs[2], c = call.inputs[3];
  std::vector<Value> states(sizes.steps), cells(sizes.steps);
  std::vector<std::vector<Value>> gates(sizes.steps);
  for (int64_t k = 0; k < sizes.steps; ++k) {
    const int64_t t = sizes.step(attrs.reversed, k);
    for (int64_t gate = 0; gate < kLstmGates; ++gate) {
      const Value sum = steps.sum(steps.gate(call.inputs[0], t, gate), steps.weighted(h, gate));
      gates[t].push_back(call.apply(gate == kLstmCell ? "tanh" : "sigmoid", {sum}));
    }
    const Value kept = steps.product(gates[t][kLstmForget], c);
    c = steps.sum(kept, steps.product(gates[t][kLstmInput], gates[t][kLstmCell]));
    cells[t] = c;
    states[t] = steps.product(gates[t][kLstmOutput], call.apply("tanh", {c}));
    h = steps.whole(states[t]);
  }
  return {steps.stacked(states), steps.stacked(cells), steps.stacked_gates(gates)};
}

/// The operands of lstm_grad by their places.
struct LstmGradIn {
  enum { weights, gates, cells, first_cell, d_states, d_cells, count };
};

std::vector<Value> lstm_grad_formula(const ExpandCall& call) {
  const auto& attrs = call.attrs.as<RecurrentAttrs>();
  const std::vector<Value>& in = call.inputs;
  const RecurrentSizes sizes(in[LstmGradIn::gates].type().shape, in[LstmGradIn::weights].type().shape);
  const RecurrentSteps steps(call, in[LstmGradIn::weights], sizes);
  Value d_h, carried;
  std::vector<std::vector<Value>> d_gates(sizes.steps);
  for (int64_t k = sizes.steps - 1; k >= 0; --k) {
    const int64_t t = sizes.step(attrs.reversed, k);
    const Value i = steps.gate(in[LstmGradIn::gates], t, kLstmInput),
                f = steps.gate(in[LstmGradIn::gates], t, kLstmForget);
    const Value g = steps.gate(in[LstmGradIn::gates], t, kLstmCell),
                o = steps.gate(in[LstmGradIn::gates], t, kLstmOutput);
    const Value before =
        k == 0 ? in[LstmGradIn::first_cell] : steps.state(in[LstmGradIn::cells], sizes.step(attrs.reversed, k - 1));
    const Value bent = call.apply("tanh", {steps.state(in[LstmGradIn::cells], t)});
    const Value d_state = added(call, d_h, steps.state(in[LstmGradIn::d_states], t));
    const Value d_bent = steps.product(d_state, o);
    const Value d_own = steps.sum(steps.state(in[LstmGradIn::d_cells], t), steps.without_square(d_bent, bent));
    const Value d_c = added(call, carried, d_own);
    const Value d_fresh = steps.product(d_c, i);
    d_gates[t] = {steps.without(steps.product(steps.product(d_c, g), i), i),
                  steps.without(steps.product(steps.product(d_c, before), f), f), steps.without_square(d_fresh, g),
                  steps.without(steps.product(steps.product(d_state, bent), o), o)};
    d_h = steps.back(d_gates[t]);
    carried = steps.product(d_c, f);
  }
  return {steps.stacked_gates(d_gates), d_h, carried};
}

std::vector<Value> expand_lstm(const ExpandCall& call) { return in_wide_type(call, lstm_formula); }
std::vector<Value> expand_lstm_grad(const ExpandCall& call) { return in_wide_type(call, lstm_grad_formula); }

std::vector<Type> infer_lstm(const OpCall& call) {
  const Type& gates = call.inputs[0];
  require_recurrent(kLstm, gates, call.inputs[1], kLstmGates);
  const Type row{gates.dtype, {gates.shape[1], gates.shape[3]}};
  require_types(kLstm, call, 2, {row, row});
  const Type states{gates.dtype, {gates.shape[0], gates.shape[1], gates.shape[3]}};
  return {states, states, gates};
}

std::vector<Value> grad_lstm(const GradCall& call) {
  if (call.d_outputs[2]) return by_formula(expand_lstm)(call);  // the gates themselves are used
  const RecurrentSizes sizes(call.inputs[0].type().shape, call.inputs[1].type().shape);
  const auto arrived = [&](size_t k) {
    return call.d_outputs[k] ? call.d_outputs[k] : constant(call.builder, 0, call.outputs[k].type());
  };
  const std::vector<Value> d = call.apply_all(
      kLstmGrad, {call.inputs[1], call.outputs[2], call.outputs[1], call.inputs[3], arrived(0), arrived(1)},
      call.attrs);
  return {
      d[0],
      gradient_of_weights(call, sizes, call.attrs.as<RecurrentAttrs>().reversed, d[0], call.inputs[2], call.outputs[0]),
      d[1], d[2]};
}

constexpr auto run_lstm = []<class T>(const RecurrentAttrs& attrs, Inputs in, Outputs out) {
  const RecurrentSizes sizes(in[0].type.shape, in[1].type.shape);
  const T *weights = in[1].as<T>(), *h = in[2].as<T>(), *c = in[3].as<T>();
  std::copy_n(in[0].as<T>(), in[0].type.elements(), out[2].as<T>());
  for (int64_t k = 0; k < sizes.steps; ++k) {
    const int64_t t = sizes.step(attrs.reversed, k);
    T *gates = out[2].as<T>() + t * sizes.gates(), *state = out[0].as<T>() + t * sizes.states();
    T* cell = out[1].as<T>() + t * sizes.states();
    multiply_rows(
        sizes.rows, sizes.gate_row(), sizes.inner, h,
        [&](int64_t z, int64_t g) { return weights[g * sizes.inner + z]; }, gates, true);
    for (int64_t r = 0; r < sizes.rows; ++r) {
      compute_lstm_row(sizes.size, gates + r * sizes.gate_row(), c + r * sizes.size, cell + r * sizes.size,
                       state + r * sizes.size);
    }
    h = state;
    c = cell;
  }
};

constexpr auto run_lstm_grad = []<class T>(const RecurrentAttrs& attrs, Inputs in, Outputs out) {
  const RecurrentSizes sizes(in[LstmGradIn::gates].type.shape, in[LstmGradIn::weights].type.shape);
  const T *weights = in[LstmGradIn::weights].as<T>(), *gates = in[LstmGradIn::gates].as<T>(),
          *cells = in[LstmGradIn::cells].as<T>();
  T *d_gates = out[0].as<T>(), *d_h = out[1].as<T>(), *carried = out[2].as<T>();
  std::fill_n(d_h, sizes.rows * sizes.inner, T{});
  std::fill_n(carried, sizes.states(), T{});
  std::vector<T> d_state(sizes.size);
  for (int64_t k = sizes.steps - 1; k >= 0; --k) {
    const int64_t t = sizes.step(attrs.reversed, k);
    const T* before =
        k == 0 ? in[LstmGradIn::first_cell].as<T>() : cells + sizes.step(attrs.reversed, k - 1) * sizes.states();
    for (int64_t r = 0; r < sizes.rows; ++r) {
      const int64_t at = t * sizes.states() + r * sizes.size, row = t * sizes.gates() + r * sizes.gate_row();
      for (int64_t z = 0; z < sizes.size; ++z)
        d_state[z] = in[LstmGradIn::d_states].as<T>()[at + z] + d_h[r * sizes.size + z];
      differentiate_lstm_row(sizes.size, gates + row, before + r * sizes.size, cells + at, d_state.data(),
                             in[LstmGradIn::d_cells].as<T>() + at, carried + r * sizes.size, d_gates + row);
    }
    multiply_rows(
        sizes.rows, sizes.inner, sizes.gate_row(), d_gates + t * sizes.gates(),
        [&](int64_t g, int64_t z) { return weights[g * sizes.inner + z]; }, d_h, false);
  }
};

OpDef lstm_op() {
  OpDef op = new_op(kLstm, "states, cells and gates of long short-term memory from weighted inputs, weights, h0 and c0",
                    {.count = 4, .floats = {0}, .same_dtype = true}, RecurrentAttrs{});
  op.infer = infer_lstm;
  op.rule = [](const OpCall& call) {
    return einsum("tngh,ghk,nk,nh->tnh,tnh,tngh | t:whole g:whole k:whole h:expand", call);
  };
  op.grad = grad_lstm;
  op.expand = expand_lstm;
  op.flops_per_point = 2;
  op.kernel = float_kernel<double, RecurrentAttrs>(run_lstm);
  op.samples = {{{sample_of({3, 4, 4, 5}), sample_of({4, 5, 5}), sample_of({4, 5}), sample_of({4, 5})}},
                {{sample_of({2, 3, 4, 4}), sample_of({4, 4, 4}), sample_of({3, 4}), sample_of({3, 4})},
                 RecurrentAttrs{.reversed = true}},
                {{sample_of({1, 2, 4, 3}), sample_of({4, 3, 3}), sample_of({2, 3}), sample_of({2, 3})}}};
  return op;
}

std::vector<Type> infer_lstm_grad(const OpCall& call) {
  const Type& gates = call.inputs[LstmGradIn::gates];
  require_recurrent(kLstmGrad, gates, call.inputs[LstmGradIn::weights], kLstmGates);
  const Type row{gates.dtype, {gates.shape[1], gates.shape[3]}};
  const Type states{gates.dtype, {gates.shape[0], gates.shape[1], gates.shape[3]}};
  require_types(kLstmGrad, call, LstmGradIn::cells, {states, row, states, states});
  return {gates, row, row};
}

std::vector<SampleInput> lstm_grad_sample(int64_t steps, int64_t rows, int64_t size) {
  const SampleInput states = sample_of({steps, rows, size});
  return {
      sample_of({4, size, size}), sample_of({steps, rows, 4, size}), states, sample_of({rows, size}), states, states};
}

OpDef lstm_grad_op() {
  OpDef op = new_op(kLstmGrad, "gradients of the weighted inputs, of h0 and of c0 of lstm",
                    {.count = LstmGradIn::count, .floats = {0}, .same_dtype = true}, RecurrentAttrs{});
  op.infer = infer_lstm_grad;
  op.rule = [](const OpCall& call) {
    return einsum("ghk,tngh,tnh,nh,tnh,tnh->tngh,nk,nh | t:whole g:whole k:whole h:expand", call)
        .linear_in({LstmGradIn::d_states, LstmGradIn::d_cells});
  };
  op.grad = by_formula(expand_lstm_grad);
  op.expand = expand_lstm_grad;
  op.flops_per_point = 2;
  op.kernel = float_kernel<double, RecurrentAttrs>(run_lstm_grad);
  op.samples = {{lstm_grad_sample(3, 4, 5)},
                {lstm_grad_sample(2, 3, 4), RecurrentAttrs{.reversed = true}},
                {lstm_grad_sample(1, 2, 3)}};
  return op;
}

}  // namespace

std::vector<OpDef> lstm_ops() { return {lstm_op(), lstm_grad_op()}; }

}  // namespace partita
