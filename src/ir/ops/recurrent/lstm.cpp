// Long short-term memory (Hochreiter and Schmidhuber, 1997, with the forget gate of Gers et al., 2000) over the steps
// of sequences. The weighted inputs come as an operand, so their product is one for all steps, and is cut as such.

#include "ir/ops/recurrent/lstm.h"

#include "ir/ops/constant.h"
#include "ir/ops/formula_gradient.h"
#include "ir/ops/kernels.h"
#include "ir/ops/matmul/matmul.h"
#include "ir/ops/shape/attrs.h"

namespace partita {
namespace {

constexpr auto kLstm = "lstm";
constexpr auto kLstmGrad = "lstm_grad";

/// Nodes of the steps of an expansion.
class LstmSteps {
 public:
  LstmSteps(const BuildCall& call, const Value& weights, const LstmSizes& sizes) : call_(call), sizes_(sizes) {
    for (int64_t gate = 0; gate < kLstmGates; ++gate) {
      const Value one = call.apply(
          "slice", {weights}, SliceAttrs{{gate, 0, 0}, {gate + 1, weights.type().shape[1], weights.type().shape[2]}});
      weights_.push_back(shaped(one, {weights.type().shape[1], weights.type().shape[2]}));
    }
  }

  Value shaped(const Value& x, const Shape& shape) const { return call_.apply("reshape", {x}, ReshapeAttrs{shape}); }
  Value sum(const Value& a, const Value& b) const { return call_.apply("add", {a, b}); }
  Value product(const Value& a, const Value& b) const { return call_.apply("mul", {a, b}); }
  /// Returns x (1 - y).
  Value without(const Value& x, const Value& y) const { return call_.apply("sub", {x, product(x, y)}); }

  /// Returns step t of states [steps, rows, size].
  Value state(const Value& x, int64_t t) const {
    const Value one = call_.apply("slice", {x}, SliceAttrs{{t, 0, 0}, {t + 1, sizes_.rows, sizes_.size}});
    return shaped(one, {sizes_.rows, sizes_.size});
  }
  /// Returns a gate of step t of [steps, rows, 4, size].
  Value gate(const Value& x, int64_t t, int64_t gate) const {
    const SliceAttrs part{{t, 0, gate, 0}, {t + 1, sizes_.rows, gate + 1, sizes_.size}};
    return shaped(call_.apply("slice", {x}, part), {sizes_.rows, sizes_.size});
  }
  /// Returns rows h of states times the weights of a gate.
  Value weighted(const Value& h, int64_t gate) const {
    return call_.apply("matmul", {h, weights_[gate]}, MatmulAttrs{.transpose_b = true});
  }
  /// Returns the gradient of states from those of the gates that they were weighted for.
  Value back(const std::vector<Value>& d_gates) const {
    Value found;
    for (int64_t gate = 0; gate < kLstmGates; ++gate) {
      found = added(call_, found, call_.apply("matmul", {d_gates[gate], weights_[gate]}));
    }
    return found;
  }
  /// Returns `x` with its rows whole on every shard: a product of the next step needs all of them.
  Value whole(const Value& x) const { return call_.apply("concat", {x}, ConcatAttrs{1}); }
  /// Returns states of all steps, in the order of the steps, as one value.
  Value stacked(const std::vector<Value>& states) const {
    std::vector<Value> parts;
    for (const Value& one : states) parts.push_back(shaped(one, {1, sizes_.rows, sizes_.size}));
    return call_.apply("concat", parts, ConcatAttrs{0});
  }
  /// Returns the gates of all steps as one value.
  Value stacked_gates(const std::vector<std::vector<Value>>& steps) const {
    std::vector<Value> parts;
    for (const std::vector<Value>& gates : steps) {
      std::vector<Value> own;
      for (const Value& one : gates) own.push_back(shaped(one, {1, sizes_.rows, 1, sizes_.size}));
      parts.push_back(call_.apply("concat", own, ConcatAttrs{2}));
    }
    return call_.apply("concat", parts, ConcatAttrs{0});
  }

 private:
  const BuildCall& call_;
  const LstmSizes sizes_;
  std::vector<Value> weights_;
};

/// Builds a formula in f32 if the operands have 16 bits, and rounds its results once, as the kernels do.
template <class Fn>
std::vector<Value> in_wide_type(const ExpandCall& given, const Fn& formula) {
  ExpandCall call = given;
  const DType dtype = given.inputs[0].type().dtype;
  for (Value& input : call.inputs) input = to_dtype(given, input, wide_type(dtype));
  std::vector<Value> results = formula(call);
  for (Value& result : results) result = to_dtype(given, result, dtype);
  return results;
}

/// The states, cells and gates from the weighted inputs, the weights, and the first state and cell.
std::vector<Value> lstm_formula(const ExpandCall& call) {
  const auto& attrs = call.attrs.as<LstmAttrs>();
  const LstmSizes sizes(call.inputs[0].type().shape, call.inputs[1].type().shape);
  const LstmSteps steps(call, call.inputs[1], sizes);
  Value h = call.inputs[2], c = call.inputs[3];
  std::vector<Value> states(sizes.steps), cells(sizes.steps);
  std::vector<std::vector<Value>> gates(sizes.steps);
  for (int64_t k = 0; k < sizes.steps; ++k) {
    const int64_t t = sizes.step(attrs, k);
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
enum GradOperand { kWeights, kGates, kCells, kFirstCell, kDStates, kDCells, kGradOperands };

std::vector<Value> lstm_grad_formula(const ExpandCall& call) {
  const auto& attrs = call.attrs.as<LstmAttrs>();
  const std::vector<Value>& in = call.inputs;
  const LstmSizes sizes(in[kGates].type().shape, in[kWeights].type().shape);
  const LstmSteps steps(call, in[kWeights], sizes);
  Value d_h, carried;
  std::vector<std::vector<Value>> d_gates(sizes.steps);
  for (int64_t k = sizes.steps - 1; k >= 0; --k) {
    const int64_t t = sizes.step(attrs, k);
    const Value i = steps.gate(in[kGates], t, kLstmInput), f = steps.gate(in[kGates], t, kLstmForget);
    const Value g = steps.gate(in[kGates], t, kLstmCell), o = steps.gate(in[kGates], t, kLstmOutput);
    const Value before = k == 0 ? in[kFirstCell] : steps.state(in[kCells], sizes.step(attrs, k - 1));
    const Value bent = call.apply("tanh", {steps.state(in[kCells], t)});
    const Value d_state = added(call, d_h, steps.state(in[kDStates], t));
    const Value d_bent = steps.product(d_state, o);
    const Value d_own = steps.sum(steps.state(in[kDCells], t),
                                  call.apply("sub", {d_bent, steps.product(d_bent, call.apply("square", {bent}))}));
    const Value d_c = added(call, carried, d_own);
    const Value d_fresh = steps.product(d_c, i);
    d_gates[t] = {steps.without(steps.product(steps.product(d_c, g), i), i),
                  steps.without(steps.product(steps.product(d_c, before), f), f),
                  call.apply("sub", {d_fresh, steps.product(d_fresh, call.apply("square", {g}))}),
                  steps.without(steps.product(steps.product(d_state, bent), o), o)};
    d_h = steps.back(d_gates[t]);
    carried = steps.product(d_c, f);
  }
  return {steps.stacked_gates(d_gates), d_h, carried};
}

std::vector<Value> expand_lstm(const ExpandCall& call) { return in_wide_type(call, lstm_formula); }
std::vector<Value> expand_lstm_grad(const ExpandCall& call) { return in_wide_type(call, lstm_grad_formula); }

void require_lstm(std::string_view op, const OpCall& call, const Type& gates, const Type& weights) {
  if (gates.shape.size() != 4 || gates.shape[2] != kLstmGates || gates.shape[0] == 0) {
    reject(op, "bad gates", print(gates), "[steps, rows, 4, size] of at least one step");
  }
  const int64_t rows = gates.shape[1], size = gates.shape[3];
  const Type expected{gates.dtype, {kLstmGates, size, size}}, states{gates.dtype, {gates.shape[0], rows, size}};
  if (weights != expected) reject(op, "weights do not fit the gates", print(weights), print(expected));
  for (size_t k = 0; k < call.inputs.size(); ++k) {
    const Type& given = call.inputs[k];
    const bool is_row = given == Type{gates.dtype, {rows, size}};
    if (given != gates && given != weights && given != states && !is_row) {
      reject(op, "an operand does not fit the gates", print(call.inputs), fmt::format("{} rows of {}", rows, size));
    }
  }
}

std::vector<Type> infer_lstm(const OpCall& call) {
  const Type& gates = call.inputs[0];
  require_lstm(kLstm, call, gates, call.inputs[1]);
  const Type row{gates.dtype, {gates.shape[1], gates.shape[3]}};
  require_types(kLstm, call, 2, {row, row});
  const Type states{gates.dtype, {gates.shape[0], gates.shape[1], gates.shape[3]}};
  return {states, states, gates};
}

/// Returns the gradients of the weights: of each gate, the sums over all steps and rows of its gradient times the state
/// before.
Value gradient_of_weights(const GradCall& call, const LstmSizes& sizes, const Value& d_gates) {
  const bool reversed = call.attrs.as<LstmAttrs>().reversed;
  const Value first = call.apply("reshape", {call.inputs[2]}, ReshapeAttrs{{1, sizes.rows, sizes.size}});
  std::vector<Value> parts = {first};
  if (sizes.steps > 1) {
    const int64_t begin = reversed ? 1 : 0, end = sizes.steps - (reversed ? 0 : 1);
    const SliceAttrs others{{begin, 0, 0}, {end, sizes.rows, sizes.size}};
    parts.insert(reversed ? parts.begin() : parts.end(), call.apply("slice", {call.outputs[0]}, others));
  }
  const int64_t count = sizes.steps * sizes.rows;
  const Value before =
      call.apply("reshape", {call.apply("concat", parts, ConcatAttrs{0})}, ReshapeAttrs{{count, sizes.size}});
  const Value flat = call.apply("reshape", {d_gates}, ReshapeAttrs{{count, sizes.gate_row()}});
  const Value sums = call.apply("matmul", {flat, before}, MatmulAttrs{.transpose_a = true});
  return call.apply("reshape", {sums}, ReshapeAttrs{call.inputs[1].type().shape});
}

std::vector<Value> grad_lstm(const GradCall& call) {
  if (call.d_outputs[2]) return by_formula(expand_lstm)(call);  // the gates themselves are used
  const LstmSizes sizes(call.inputs[0].type().shape, call.inputs[1].type().shape);
  const auto arrived = [&](size_t k) {
    return call.d_outputs[k] ? call.d_outputs[k] : constant(call.builder, 0, call.outputs[k].type());
  };
  const std::vector<Value> d = call.apply_all(
      kLstmGrad, {call.inputs[1], call.outputs[2], call.outputs[1], call.inputs[3], arrived(0), arrived(1)},
      call.attrs);
  return {d[0], gradient_of_weights(call, sizes, d[0]), d[1], d[2]};
}

/// y (+)= x w for rows of x, with sums in f64.
template <class T, class At>
void multiply_rows(int64_t rows, int64_t columns, int64_t inner, const T* x, const At& weight, T* y, bool add) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      double sum = add ? double(y[r * columns + c]) : 0;
      for (int64_t k = 0; k < inner; ++k) sum += double(x[r * inner + k]) * double(weight(k, c));
      y[r * columns + c] = static_cast<T>(sum);
    }
  }
}

constexpr auto run_lstm = []<class T>(const LstmAttrs& attrs, Inputs in, Outputs out) {
  const LstmSizes sizes(in[0].type.shape, in[1].type.shape);
  const T *weights = in[1].as<T>(), *h = in[2].as<T>(), *c = in[3].as<T>();
  std::copy_n(in[0].as<T>(), in[0].type.elements(), out[2].as<T>());
  for (int64_t k = 0; k < sizes.steps; ++k) {
    const int64_t t = sizes.step(attrs, k);
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

constexpr auto run_lstm_grad = []<class T>(const LstmAttrs& attrs, Inputs in, Outputs out) {
  const LstmSizes sizes(in[kGates].type.shape, in[kWeights].type.shape);
  const T *weights = in[kWeights].as<T>(), *gates = in[kGates].as<T>(), *cells = in[kCells].as<T>();
  T *d_gates = out[0].as<T>(), *d_h = out[1].as<T>(), *carried = out[2].as<T>();
  std::fill_n(d_h, sizes.rows * sizes.inner, T{});
  std::fill_n(carried, sizes.states(), T{});
  std::vector<T> d_state(sizes.size);
  for (int64_t k = sizes.steps - 1; k >= 0; --k) {
    const int64_t t = sizes.step(attrs, k);
    const T* before = k == 0 ? in[kFirstCell].as<T>() : cells + sizes.step(attrs, k - 1) * sizes.states();
    for (int64_t r = 0; r < sizes.rows; ++r) {
      const int64_t at = t * sizes.states() + r * sizes.size, row = t * sizes.gates() + r * sizes.gate_row();
      for (int64_t z = 0; z < sizes.size; ++z) d_state[z] = in[kDStates].as<T>()[at + z] + d_h[r * sizes.size + z];
      differentiate_lstm_row(sizes.size, gates + row, before + r * sizes.size, cells + at, d_state.data(),
                             in[kDCells].as<T>() + at, carried + r * sizes.size, d_gates + row);
    }
    multiply_rows(
        sizes.rows, sizes.inner, sizes.gate_row(), d_gates + t * sizes.gates(),
        [&](int64_t g, int64_t z) { return weights[g * sizes.inner + z]; }, d_h, false);
  }
};

OpDef lstm_op() {
  OpDef op = new_op(kLstm, "states, cells and gates of long short-term memory from weighted inputs, weights, h0 and c0",
                    {.count = 4, .floats = {0}, .same_dtype = true}, LstmAttrs{});
  op.infer = infer_lstm;
  op.rule = [](const OpCall& call) {
    return einsum("tngh,ghk,nk,nh->tnh,tnh,tngh | t:whole g:whole k:whole h:expand", call);
  };
  op.grad = grad_lstm;
  op.expand = expand_lstm;
  op.flops_per_point = 2;
  op.kernel = float_kernel<double, LstmAttrs>(run_lstm);
  op.samples = {{{sample_of({3, 4, 4, 5}), sample_of({4, 5, 5}), sample_of({4, 5}), sample_of({4, 5})}},
                {{sample_of({2, 3, 4, 4}), sample_of({4, 4, 4}), sample_of({3, 4}), sample_of({3, 4})},
                 LstmAttrs{.reversed = true}},
                {{sample_of({1, 2, 4, 3}), sample_of({4, 3, 3}), sample_of({2, 3}), sample_of({2, 3})}}};
  return op;
}

std::vector<Type> infer_lstm_grad(const OpCall& call) {
  const Type& gates = call.inputs[kGates];
  require_lstm(kLstmGrad, call, gates, call.inputs[kWeights]);
  const Type row{gates.dtype, {gates.shape[1], gates.shape[3]}};
  const Type states{gates.dtype, {gates.shape[0], gates.shape[1], gates.shape[3]}};
  require_types(kLstmGrad, call, kCells, {states, row, states, states});
  return {gates, row, row};
}

std::vector<SampleInput> grad_sample(int64_t steps, int64_t rows, int64_t size) {
  const SampleInput states = sample_of({steps, rows, size});
  return {
      sample_of({4, size, size}), sample_of({steps, rows, 4, size}), states, sample_of({rows, size}), states, states};
}

OpDef lstm_grad_op() {
  OpDef op = new_op(kLstmGrad, "gradients of the weighted inputs, of h0 and of c0 of lstm",
                    {.count = kGradOperands, .floats = {0}, .same_dtype = true}, LstmAttrs{});
  op.infer = infer_lstm_grad;
  op.rule = [](const OpCall& call) {
    return einsum("ghk,tngh,tnh,nh,tnh,tnh->tngh,nk,nh | t:whole g:whole k:whole h:expand", call)
        .linear_in({kDStates, kDCells});
  };
  op.grad = by_formula(expand_lstm_grad);
  op.expand = expand_lstm_grad;
  op.flops_per_point = 2;
  op.kernel = float_kernel<double, LstmAttrs>(run_lstm_grad);
  op.samples = {{grad_sample(3, 4, 5)}, {grad_sample(2, 3, 4), LstmAttrs{.reversed = true}}, {grad_sample(1, 2, 3)}};
  return op;
}

}  // namespace

std::vector<OpDef> lstm_ops() { return {lstm_op(), lstm_grad_op()}; }

}  // namespace partita
