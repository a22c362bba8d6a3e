// Plain recurrent layers (Elman, 1990) over the steps of sequences. The weighted inputs come as an operand, as those of
// lstm do, of one gate.

#include "ir/ops/recurrent/rnn.h"

#include "ir/ops/formula_gradient.h"
#include "ir/ops/kernels.h"
#include "ir/ops/shape/attrs.h"

namespace partita {
namespace {

constexpr auto kRnn = "rnn";
constexpr auto kRnnGrad = "rnn_grad";

std::vector<Value> rnn_formula(const ExpandCall& call) {
  const auto& attrs = call.attrs.as<RnnAttrs>();
  const RecurrentSizes sizes(call.inputs[0].type().shape, call.inputs[1].type().shape);
  const RecurrentSteps steps(call, call.inputs[1], sizes);
  Value h = call.inputs[2];
  std::vector<Value> states(sizes.steps);
  for (int64_t k = 0; k < sizes.steps; ++k) {
    const int64_t t = sizes.step(attrs.reversed, k);
    const Value sum = steps.sum(steps.gate(call.inputs[0], t, 0), steps.weighted(h, 0));
    states[t] = call.apply(attrs.relu ? "relu" : "tanh", {sum});
    h = steps.whole(states[t]);
  }
  return {steps.stacked(states)};
}

std::vector<Value> rnn_grad_formula(const ExpandCall& call) {
  const auto& attrs = call.attrs.as<RnnAttrs>();
  const Shape& states = call.inputs[1].type().shape;
  const RecurrentSizes sizes({states[0], states[1], 1, states[2]}, call.inputs[0].type().shape);
  const RecurrentSteps steps(call, call.inputs[0], sizes);
  Value d_h;
  std::vector<std::vector<Value>> d_sums(sizes.steps);
  for (int64_t k = sizes.steps - 1; k >= 0; --k) {
    const int64_t t = sizes.step(attrs.reversed, k);
    const Value y = steps.state(call.inputs[1], t), d = added(call, d_h, steps.state(call.inputs[2], t));
    const Value own = attrs.relu ? call.apply("relu_grad", {d, y}) : steps.without_square(d, y);
    d_sums[t] = {own};
    d_h = steps.back({own});
  }
  return {steps.stacked_gates(d_sums), d_h};
}

std::vector<Value> expand_rnn(const ExpandCall& call) { return in_wide_type(call, rnn_formula); }
std::vector<Value> expand_rnn_grad(const ExpandCall& call) { return in_wide_type(call, rnn_grad_formula); }

std::vector<Type> infer_rnn(const OpCall& call) {
  const Type& gates = call.inputs[0];
  require_recurrent(kRnn, gates, call.inputs[1], 1);
  require_types(kRnn, call, 2, {Type{gates.dtype, {gates.shape[1], gates.shape[3]}}});
  return {Type{gates.dtype, {gates.shape[0], gates.shape[1], gates.shape[3]}}};
}

std::vector<Value> grad_rnn(const GradCall& call) {
  const RecurrentSizes sizes(call.inputs[0].type().shape, call.inputs[1].type().shape);
  const std::vector<Value> d =
      call.apply_all(kRnnGrad, {call.inputs[1], call.outputs[0], call.d_outputs[0]}, call.attrs);
  const bool reversed = call.attrs.as<RnnAttrs>().reversed;
  return {d[0], gradient_of_weights(call, sizes, reversed, d[0], call.inputs[2], call.outputs[0]), d[1]};
}

constexpr auto run_rnn = []<class T>(const RnnAttrs& attrs, Inputs in, Outputs out) {
  const RecurrentSizes sizes(in[0].type.shape, in[1].type.shape);
  const T *weights = in[1].as<T>(), *h = in[2].as<T>();
  std::copy_n(in[0].as<T>(), in[0].type.elements(), out[0].as<T>());
  for (int64_t k = 0; k < sizes.steps; ++k) {
    T* state = out[0].as<T>() + sizes.step(attrs.reversed, k) * sizes.states();
    multiply_rows(
        sizes.rows, sizes.size, sizes.inner, h, [&](int64_t z, int64_t g) { return weights[g * sizes.inner + z]; },
        state, true);
    activate_rnn(sizes.states(), attrs.relu, state);
    h = state;
  }
};

constexpr auto run_rnn_grad = []<class T>(const RnnAttrs& attrs, Inputs in, Outputs out) {
  const Shape& shape = in[1].type.shape;
  const RecurrentSizes sizes({shape[0], shape[1], 1, shape[2]}, in[0].type.shape);
  const T* weights = in[0].as<T>();
  T* d_h = out[1].as<T>();
  std::fill_n(d_h, sizes.states(), T{});
  for (int64_t k = sizes.steps - 1; k >= 0; --k) {
    const int64_t at = sizes.step(attrs.reversed, k) * sizes.states();
    for (int64_t z = 0; z < sizes.states(); ++z) d_h[z] += in[2].as<T>()[at + z];
    differentiate_rnn(sizes.states(), attrs.relu, in[1].as<T>() + at, d_h, out[0].as<T>() + at);
    multiply_rows(
        sizes.rows, sizes.inner, sizes.size, out[0].as<T>() + at,
        [&](int64_t g, int64_t z) { return weights[g * sizes.inner + z]; }, d_h, false);
  }
};

OpDef rnn_op() {
  OpDef op = new_op(kRnn, "states of a plain recurrent layer from weighted inputs, weights and h0",
                    {.count = 3, .floats = {0}, .same_dtype = true}, RnnAttrs{});
  op.infer = infer_rnn;
  op.rule = [](const OpCall& call) { return einsum("tngh,ghk,nk->tnh | t:whole g:whole k:whole h:expand", call); };
  op.grad = grad_rnn;
  op.expand = expand_rnn;
  op.flops_per_point = 2;
  op.kernel = float_kernel<double, RnnAttrs>(run_rnn);
  op.samples = {{{sample_of({3, 4, 1, 5}), sample_of({1, 5, 5}), sample_of({4, 5})}},
                {{sample_of({2, 3, 1, 4}), sample_of({1, 4, 4}), sample_of({3, 4})}, RnnAttrs{true, true}},
                {{sample_of({1, 2, 1, 3}), sample_of({1, 3, 3}), sample_of({2, 3})}}};
  return op;
}

std::vector<Type> infer_rnn_grad(const OpCall& call) {
  const Type& states = call.inputs[1];
  require_rank(kRnnGrad, call, 1, 3);
  const Type gates{states.dtype, {states.shape[0], states.shape[1], 1, states.shape[2]}};
  require_recurrent(kRnnGrad, gates, call.inputs[0], 1);
  require_types(kRnnGrad, call, 2, {states});
  return {gates, Type{states.dtype, {states.shape[1], states.shape[2]}}};
}

std::vector<SampleInput> rnn_grad_sample(int64_t steps, int64_t rows, int64_t size) {
  const SampleInput states = sample_of({steps, rows, size});
  return {sample_of({1, size, size}), states, states};
}

OpDef rnn_grad_op() {
  OpDef op = new_op(kRnnGrad, "gradients of the weighted inputs and of h0 of rnn",
                    {.count = 3, .floats = {0}, .same_dtype = true}, RnnAttrs{});
  op.infer = infer_rnn_grad;
  op.rule = [](const OpCall& call) {
    return einsum("ghk,tnh,tnh->tngh,nk | t:whole g:whole k:whole h:expand", call, {{'g', 1}}).linear_in({2});
  };
  op.grad = by_formula(expand_rnn_grad);
  op.expand = expand_rnn_grad;
  op.flops_per_point = 2;
  op.kernel = float_kernel<double, RnnAttrs>(run_rnn_grad);
  op.samples = {
      {rnn_grad_sample(3, 4, 5)}, {rnn_grad_sample(2, 3, 4), RnnAttrs{true, true}}, {rnn_grad_sample(1, 2, 3)}};
  return op;
}

}  // namespace

std::vector<OpDef> rnn_ops() { return {rnn_op(), rnn_grad_op()}; }

}  // namespace partita
