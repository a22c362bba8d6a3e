// Gated recurrent units (Cho et al., 2014) over the steps of sequences, whose reset gate scales the weighted state. The
// weighted inputs come as an operand, as those of lstm do.

#include "ir/ops/recurrent/gru.h"

#include "ir/ops/constant.h"
#include "ir/ops/formula_gradient.h"
#include "ir/ops/kernels.h"
#include "ir/ops/shape/attrs.h"

namespace partita {
namespace {

constexpr auto kGru = "gru";
constexpr auto kGruGrad = "gru_grad";

/// The operands by their places.
struct GruIn {
  enum { sums, weights, bias, first, count };
};
struct GruGradIn {
  enum { weights, gates, fresh, states, first, d_states, count };
};

std::vector<Value> gru_formula(const ExpandCall& call) {
  const bool reversed = call.attrs.as<RecurrentAttrs>().reversed;
  const RecurrentSizes sizes(call.inputs[GruIn::sums].type().shape, call.inputs[GruIn::weights].type().shape);
  const RecurrentSteps steps(call, call.inputs[GruIn::weights], sizes);
  Value h = call.inputs[GruIn::first];
  std::vector<Value> states(sizes.steps), fresh(sizes.steps);
  std::vector<std::vector<Value>> gates(sizes.steps);
  for (int64_t k = 0; k < sizes.steps; ++k) {
    const int64_t t = sizes.step(reversed, k);
    for (const GruGate gate : {kGruReset, kGruUpdate}) {
      const Value sum = steps.sum(steps.gate(call.inputs[GruIn::sums], t, gate), steps.weighted(h, gate));
      gates[t].push_back(call.apply("sigmoid", {sum}));
    }
    fresh[t] = steps.sum(steps.weighted(h, kGruNew), call.inputs[GruIn::bias]);
    const Value reset = steps.product(gates[t][kGruReset], fresh[t]);
    const Value candidate = call.apply("tanh", {steps.sum(steps.gate(call.inputs[GruIn::sums], t, kGruNew), reset)});
    gates[t].push_back(candidate);
    states[t] = steps.sum(candidate, steps.product(gates[t][kGruUpdate], steps.difference(h, candidate)));
    h = steps.whole(states[t]);
  }
  return {steps.stacked(states), steps.stacked_gates(gates), steps.stacked(fresh)};
}

std::vector<Value> gru_grad_formula(const ExpandCall& call) {
  const bool reversed = call.attrs.as<RecurrentAttrs>().reversed;
  const std::vector<Value>& in = call.inputs;
  const RecurrentSizes sizes(in[GruGradIn::gates].type().shape, in[GruGradIn::weights].type().shape);
  const RecurrentSteps steps(call, in[GruGradIn::weights], sizes);
  Value d_h;
  std::vector<Value> d_fresh(sizes.steps);
  std::vector<std::vector<Value>> d_gates(sizes.steps);
  for (int64_t k = sizes.steps - 1; k >= 0; --k) {
    const int64_t t = sizes.step(reversed, k);
    const Value r = steps.gate(in[GruGradIn::gates], t, kGruReset), u = steps.gate(in[GruGradIn::gates], t, kGruUpdate);
    const Value n = steps.gate(in[GruGradIn::gates], t, kGruNew);
    const Value before =
        k == 0 ? in[GruGradIn::first] : steps.state(in[GruGradIn::states], sizes.step(reversed, k - 1));
    const Value d = added(call, d_h, steps.state(in[GruGradIn::d_states], t));
    const Value d_n = steps.without_square(steps.without(d, u), n);
    const Value d_u = steps.product(steps.product(d, steps.difference(before, n)), u);
    const Value d_r = steps.product(steps.product(d_n, steps.state(in[GruGradIn::fresh], t)), r);
    d_gates[t] = {steps.without(d_r, r), steps.without(d_u, u), d_n};
    d_fresh[t] = steps.product(d_n, r);
    d_h = steps.sum(steps.whole(steps.product(d, u)), steps.back({d_gates[t][0], d_gates[t][1], d_fresh[t]}));
  }
  return {steps.stacked_gates(d_gates), steps.stacked(d_fresh), d_h};
}

std::vector<Value> expand_gru(const ExpandCall& call) { return in_wide_type(call, gru_formula); }
std::vector<Value> expand_gru_grad(const ExpandCall& call) { return in_wide_type(call, gru_grad_formula); }

std::vector<Type> infer_gru(const OpCall& call) {
  const Type& gates = call.inputs[GruIn::sums];
  require_recurrent(kGru, gates, call.inputs[GruIn::weights], kGruGates);
  const Type row{gates.dtype, {gates.shape[1], gates.shape[3]}};
  require_types(kGru, call, GruIn::bias, {Type{gates.dtype, {gates.shape[3]}}, row});
  const Type states{gates.dtype, {gates.shape[0], gates.shape[1], gates.shape[3]}};
  return {states, gates, states};
}

/// Returns the gradients of the weighted states of all gates: those of their weighted inputs, but for the new state.
Value gradient_of_sums(const GradCall& call, const RecurrentSizes& sizes, const Value& d_gates, const Value& d_fresh) {
  const SliceAttrs others{{0, 0, 0, 0}, {sizes.steps, sizes.rows, kGruNew, sizes.size}};
  const Value last = call.apply("reshape", {d_fresh}, ReshapeAttrs{{sizes.steps, sizes.rows, 1, sizes.size}});
  return call.apply("concat", {call.apply("slice", {d_gates}, others), last}, ConcatAttrs{2});
}

std::vector<Value> grad_gru(const GradCall& call) {
  if (call.d_outputs[1] || call.d_outputs[2]) return by_formula(expand_gru)(call);  // the gates themselves are used
  const RecurrentSizes sizes(call.inputs[GruIn::sums].type().shape, call.inputs[GruIn::weights].type().shape);
  const std::vector<Value> d = call.apply_all(kGruGrad,
                                              {call.inputs[GruIn::weights], call.outputs[1], call.outputs[2],
                                               call.outputs[0], call.inputs[GruIn::first], call.d_outputs[0]},
                                              call.attrs);
  const Value d_sums = gradient_of_sums(call, sizes, d[0], d[1]);
  const Value d_weights = gradient_of_weights(call, sizes, call.attrs.as<RecurrentAttrs>().reversed, d_sums,
                                              call.inputs[GruIn::first], call.outputs[0]);
  return {d[0], d_weights, sum_to(call, d[1], call.inputs[GruIn::bias].type()), d[2]};
}

constexpr auto run_gru = []<class T>(const RecurrentAttrs& attrs, Inputs in, Outputs out) {
  const RecurrentSizes sizes(in[GruIn::sums].type.shape, in[GruIn::weights].type.shape);
  const T *weights = in[GruIn::weights].as<T>(), *h = in[GruIn::first].as<T>();
  std::vector<T> weighted(sizes.gates());
  std::copy_n(in[GruIn::sums].as<T>(), in[GruIn::sums].type.elements(), out[1].as<T>());
  for (int64_t k = 0; k < sizes.steps; ++k) {
    const int64_t t = sizes.step(attrs.reversed, k);
    T* state = out[0].as<T>() + t * sizes.states();
    multiply_rows(
        sizes.rows, sizes.gate_row(), sizes.inner, h,
        [&](int64_t z, int64_t g) { return weights[g * sizes.inner + z]; }, weighted.data(), false);
    for (int64_t r = 0; r < sizes.rows; ++r) {
      const int64_t row = r * sizes.size;
      compute_gru_row(sizes.size, weighted.data() + kGruGates * row, in[GruIn::bias].as<T>(), h + row,
                      out[1].as<T>() + t * sizes.gates() + kGruGates * row, out[2].as<T>() + t * sizes.states() + row,
                      state + row);
    }
    h = state;
  }
};

constexpr auto run_gru_grad = []<class T>(const RecurrentAttrs& attrs, Inputs in, Outputs out) {
  const RecurrentSizes sizes(in[GruGradIn::gates].type.shape, in[GruGradIn::weights].type.shape);
  const T *weights = in[GruGradIn::weights].as<T>(), *states = in[GruGradIn::states].as<T>();
  T* d_h = out[2].as<T>();
  std::vector<T> d_weighted(sizes.gates());
  std::fill_n(d_h, sizes.states(), T{});
  for (int64_t k = sizes.steps - 1; k >= 0; --k) {
    const int64_t t = sizes.step(attrs.reversed, k);
    const T* before =
        k == 0 ? in[GruGradIn::first].as<T>() : states + sizes.step(attrs.reversed, k - 1) * sizes.states();
    for (int64_t r = 0; r < sizes.rows; ++r) {
      const int64_t row = r * sizes.size, at = t * sizes.states() + row;
      for (int64_t z = 0; z < sizes.size; ++z) d_h[row + z] += in[GruGradIn::d_states].as<T>()[at + z];
      differentiate_gru_row(sizes.size, in[GruGradIn::gates].as<T>() + kGruGates * at,
                            in[GruGradIn::fresh].as<T>() + at, before + row, d_h + row, out[0].as<T>() + kGruGates * at,
                            d_weighted.data() + kGruGates * row);
      for (int64_t z = 0; z < sizes.size; ++z) {
        out[1].as<T>()[at + z] = d_weighted[kGruGates * row + kGruNew * sizes.size + z];
      }
    }
    multiply_rows(
        sizes.rows, sizes.inner, sizes.gate_row(), d_weighted.data(),
        [&](int64_t g, int64_t z) { return weights[g * sizes.inner + z]; }, d_h, true);
  }
};

OpDef gru_op() {
  OpDef op = new_op(kGru, "states, gates and weighted states of gated recurrent units from weighted inputs and weights",
                    {.count = GruIn::count, .floats = {0}, .same_dtype = true}, RecurrentAttrs{});
  op.infer = infer_gru;
  op.rule = [](const OpCall& call) {
    return einsum("tngh,ghk,h,nk->tnh,tngh,tnh | t:whole g:whole k:whole h:expand", call);
  };
  op.grad = grad_gru;
  op.expand = expand_gru;
  op.flops_per_point = 2;
  op.kernel = float_kernel<double, RecurrentAttrs>(run_gru);
  op.samples = {{{sample_of({3, 4, 3, 5}), sample_of({3, 5, 5}), sample_of({5}), sample_of({4, 5})}},
                {{sample_of({2, 3, 3, 4}), sample_of({3, 4, 4}), sample_of({4}), sample_of({3, 4})},
                 RecurrentAttrs{.reversed = true}},
                {{sample_of({1, 2, 3, 3}), sample_of({3, 3, 3}), sample_of({3}), sample_of({2, 3})}}};
  return op;
}

std::vector<Type> infer_gru_grad(const OpCall& call) {
  const Type& gates = call.inputs[GruGradIn::gates];
  require_recurrent(kGruGrad, gates, call.inputs[GruGradIn::weights], kGruGates);
  const Type row{gates.dtype, {gates.shape[1], gates.shape[3]}};
  const Type states{gates.dtype, {gates.shape[0], gates.shape[1], gates.shape[3]}};
  require_types(kGruGrad, call, GruGradIn::fresh, {states, states, row, states});
  return {gates, states, row};
}

std::vector<SampleInput> gru_grad_sample(int64_t steps, int64_t rows, int64_t size) {
  const SampleInput states = sample_of({steps, rows, size});
  return {
      sample_of({3, size, size}), sample_of({steps, rows, 3, size}), states, states, sample_of({rows, size}), states};
}

OpDef gru_grad_op() {
  OpDef op = new_op(kGruGrad, "gradients of the weighted inputs, of the weighted states and of h0 of gru",
                    {.count = GruGradIn::count, .floats = {0}, .same_dtype = true}, RecurrentAttrs{});
  op.infer = infer_gru_grad;
  op.rule = [](const OpCall& call) {
    return einsum("ghk,tngh,tnh,tnh,nk,tnh->tngh,tnh,nk | t:whole g:whole k:whole h:expand", call)
        .linear_in({GruGradIn::d_states});
  };
  op.grad = by_formula(expand_gru_grad);
  op.expand = expand_gru_grad;
  op.flops_per_point = 2;
  op.kernel = float_kernel<double, RecurrentAttrs>(run_gru_grad);
  op.samples = {{gru_grad_sample(3, 4, 5)},
                {gru_grad_sample(2, 3, 4), RecurrentAttrs{.reversed = true}},
                {gru_grad_sample(1, 2, 3)}};
  return op;
}

}  // namespace

std::vector<OpDef> gru_ops() { return {gru_op(), gru_grad_op()}; }

}  // namespace partita
