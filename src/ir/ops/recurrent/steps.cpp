#include "ir/ops/recurrent/steps.h"

#include "ir/ops/matmul/matmul.h"
#include "ir/ops/shape/attrs.h"
#include "ir/ops/wide.h"

namespace partita {

void require_recurrent(std::string_view op, const Type& gates, const Type& weights, int64_t count) {
  if (gates.shape.size() != 4 || gates.shape[2] != count || gates.shape[0] == 0) {
    reject(op, "bad gates", print(gates), fmt::format("[steps, rows, {}, size] of at least one step", count));
  }
  const int64_t size = gates.shape[3];
  const Type expected{gates.dtype, {count, size, size}};
  if (weights != expected) reject(op, "weights do not fit the gates", print(weights), print(expected));
}

RecurrentSteps::RecurrentSteps(const BuildCall& call, const Value& weights, const RecurrentSizes& sizes)
    : call_(call), sizes_(sizes) {
  const int64_t size = weights.type().shape[1], inner = weights.type().shape[2];
  for (int64_t gate = 0; gate < sizes.count; ++gate) {
    const Value one = call.apply("slice", {weights}, SliceAttrs{{gate, 0, 0}, {gate + 1, size, inner}});
    weights_.push_back(shaped(one, {size, inner}));
  }
}

Value RecurrentSteps::shaped(const Value& x, const Shape& shape) const {
  return call_.apply("reshape", {x}, ReshapeAttrs{shape});
}

Value RecurrentSteps::without_square(const Value& x, const Value& y) const {
  return difference(x, product(x, call_.apply("square", {y})));
}

Value RecurrentSteps::state(const Value& x, int64_t t) const {
  const Value one = call_.apply("slice", {x}, SliceAttrs{{t, 0, 0}, {t + 1, sizes_.rows, sizes_.size}});
  return shaped(one, sizes_.state_shape());
}

Value RecurrentSteps::gate(const Value& x, int64_t t, int64_t gate) const {
  const SliceAttrs part{{t, 0, gate, 0}, {t + 1, sizes_.rows, gate + 1, sizes_.size}};
  return shaped(call_.apply("slice", {x}, part), sizes_.state_shape());
}

Value RecurrentSteps::weighted(const Value& h, int64_t gate) const {
  return call_.apply("matmul", {h, weights_[gate]}, MatmulAttrs{.transpose_b = true});
}

Value RecurrentSteps::back(const std::vector<Value>& d_gates) const {
  Value found;
  for (int64_t gate = 0; gate < sizes_.count; ++gate) {
    found = added(call_, found, call_.apply("matmul", {d_gates[gate], weights_[gate]}));
  }
  return found;
}

Value RecurrentSteps::whole(const Value& x) const { return call_.apply("concat", {x}, ConcatAttrs{1}); }

Value RecurrentSteps::stacked(const std::vector<Value>& states) const {
  std::vector<Value> parts;
  for (const Value& one : states) parts.push_back(shaped(one, {1, sizes_.rows, sizes_.size}));
  return call_.apply("concat", parts, ConcatAttrs{0});
}

Value RecurrentSteps::stacked_gates(const std::vector<std::vector<Value>>& steps) const {
  std::vector<Value> parts;
  for (const std::vector<Value>& gates : steps) {
    std::vector<Value> own;
    for (const Value& one : gates) own.push_back(shaped(one, {1, sizes_.rows, 1, sizes_.size}));
    parts.push_back(call_.apply("concat", own, ConcatAttrs{2}));
  }
  return call_.apply("concat", parts, ConcatAttrs{0});
}

std::vector<Value> in_wide_type(const ExpandCall& given,
                                const std::function<std::vector<Value>(const ExpandCall&)>& formula) {
  ExpandCall call = given;
  const DType dtype = given.inputs[0].type().dtype;
  for (Value& input : call.inputs) input = to_dtype(given, input, wide_type(dtype));
  std::vector<Value> results = formula(call);
  for (Value& result : results) result = to_dtype(given, result, dtype);
  return results;
}

Value gradient_of_weights(const GradCall& call, const RecurrentSizes& sizes, bool reversed, const Value& d_gates,
                          const Value& first, const Value& states) {
  std::vector<Value> parts = {call.apply("reshape", {first}, ReshapeAttrs{{1, sizes.rows, sizes.size}})};
  if (sizes.steps > 1) {
    const int64_t begin = reversed ? 1 : 0, end = sizes.steps - (reversed ? 0 : 1);
    const Value others = call.apply("slice", {states}, SliceAttrs{{begin, 0, 0}, {end, sizes.rows, sizes.size}});
    parts.insert(reversed ? parts.begin() : parts.end(), others);
  }
  const int64_t count = sizes.steps * sizes.rows;
  const Value before =
      call.apply("reshape", {call.apply("concat", parts, ConcatAttrs{0})}, ReshapeAttrs{{count, sizes.size}});
  const Value flat = call.apply("reshape", {d_gates}, ReshapeAttrs{{count, sizes.gate_row()}});
  const Value sums = call.apply("matmul", {flat, before}, MatmulAttrs{.transpose_a = true});
  return call.apply("reshape", {sums}, ReshapeAttrs{{sizes.count, sizes.size, sizes.size}});
}

}  // namespace partita
