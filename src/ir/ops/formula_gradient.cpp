#include "ir/ops/formula_gradient.h"

#include <algorithm>
#include <map>
#include <utility>

namespace partita {
namespace {

/// The gradients of values, by id, as they arrive.
class Arrived {
 public:
  explicit Arrived(Builder& builder) : builder_(builder) {}

  void add(ValueId value, Value d) {
    Value& sum = sums_[value];
    sum = sum ? builder_.apply("add", {sum, d}) : d;
  }
  /// Returns the gradient of a value, or an empty one if none has arrived.
  Value at(ValueId value) const {
    const auto found = sums_.find(value);
    return found == sums_.end() ? Value() : found->second;
  }
  /// Returns the gradient of a value and forgets it.
  Value take(ValueId value) {
    const auto node = sums_.extract(value);
    return node ? node.mapped() : Value();
  }

 private:
  Builder& builder_;
  std::map<ValueId, Value> sums_;
};

/// Adds the gradients of the operands of a node if one of its results has a gradient.
void visit(Builder& builder, NodeId id, Arrived& arrived) {
  const Node node = builder.graph().nodes[static_cast<size_t>(id)];  // a copy, since nodes are appended
  std::vector<Value> inputs, outputs, d_outputs;
  for (const ValueId input : node.inputs) inputs.push_back(builder.value(input));
  for (const ValueId output : node.outputs) {
    outputs.push_back(builder.value(output));
    d_outputs.push_back(arrived.at(output));
  }
  if (std::ranges::none_of(d_outputs, [](const Value& d) { return static_cast<bool>(d); })) return;
  const OpDef& op = builder.ops().at(node.op);
  if (!op.grad) reject(node.op, "an op of a formula has no gradient", node.op, "a differentiable op", ErrorKind::type);
  const std::vector<Value> d_inputs = op.grad({{builder, node.attrs, inputs}, outputs, d_outputs});
  PARTITA_CHECK(d_inputs.size() == inputs.size(), "{} gradients of {} operands of {}", d_inputs.size(), inputs.size(),
                node.op);
  for (size_t i = 0; i < d_inputs.size(); ++i) {
    PARTITA_CHECK(!d_inputs[i] || d_inputs[i].type() == inputs[i].type(),
                  "a gradient of another type, of operand {} of {}", i, node.op);
    if (d_inputs[i]) arrived.add(node.inputs[i], d_inputs[i]);
  }
}

std::vector<Value> gradient_of_formula(const GradCall& call, const Formula& formula) {
  Builder& builder = call.builder;
  std::vector<Type> types;
  for (const Value& output : call.outputs) types.push_back(output.type());
  const auto begin = static_cast<NodeId>(builder.graph().nodes.size());
  const std::vector<Value> results = formula({{builder, call.attrs, call.inputs}, types});
  const auto end = static_cast<NodeId>(builder.graph().nodes.size());
  PARTITA_CHECK(results.size() == call.d_outputs.size(), "a formula with {} results of {}", results.size(),
                call.d_outputs.size());
  Arrived arrived(builder);
  for (size_t k = 0; k < results.size(); ++k) {
    if (call.d_outputs[k]) arrived.add(results[k].id(), call.d_outputs[k]);
  }
  for (NodeId node = end; node-- > begin;) visit(builder, node, arrived);
  std::vector<Value> gradients;
  for (const Value& input : call.inputs) gradients.push_back(arrived.take(input.id()));
  return gradients;
}

}  // namespace

std::function<std::vector<Value>(const GradCall&)> by_formula(Formula formula) {
  return [formula = std::move(formula)](const GradCall& call) { return gradient_of_formula(call, formula); };
}

}  // namespace partita
