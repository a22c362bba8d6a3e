#include "autodiff/differentiate.h"

#include <utility>

#include "ops/constant.h"

namespace partita {
namespace {

/// For each value whether it depends on one of `roots`.
std::vector<bool> depends_on(const Graph& graph, const std::vector<Value>& roots) {
  std::vector<bool> depends(graph.values.size(), false);
  for (const Value& root : roots) depends[root.id()] = true;
  for (const Node& node : graph.nodes) {
    bool any = false;
    for (ValueId input : node.inputs) any = any || depends[input];
    for (ValueId output : node.outputs) depends[output] = any;
  }
  return depends;
}

class Sweep {
 public:
  Sweep(Builder& builder, const std::vector<Value>& roots)
      : builder_(builder), depends_(depends_on(builder.graph(), roots)), gradients_(depends_.size()) {}

  void run(Value loss) {
    builder_.phase = Phase::backward;
    const NodeId producer = builder_.graph().values[loss.id()].producer;
    if (producer >= 0) enter(builder_.graph().nodes[producer]);
    gradients_[loss.id()] = constant(builder_, 1.0, loss.type());
    for (NodeId n = producer; n >= 0; --n) visit(n);
    builder_.origin.clear();
  }

  Value gradient(Value value) const { return gradients_[value.id()]; }

 private:
  void enter(const Node& node) {
    builder_.scope = node.scope;
    builder_.source = node.source;
    builder_.origin = node.name;
  }

  void visit(NodeId id) {
    const Node node = builder_.graph().nodes[id];  // a copy: nodes are appended below
    std::vector<Value> d_outputs;
    bool arrived = false;
    for (ValueId output : node.outputs) {
      d_outputs.push_back(gradients_[output]);
      arrived = arrived || d_outputs.back();
    }
    bool wanted = false;
    for (ValueId input : node.inputs) wanted = wanted || depends_[input];
    if (!arrived || !wanted) return;

    enter(node);
    const OpDef& op = builder_.ops().at(node.op);
    if (!op.grad) {
      throw InvalidArgument(fmt::format("[autodiff] a gradient reaches an op that has none, got '{}' at {} ({}:{}), "
                                        "expected a differentiable op",
                                        node.op, node.name, node.source.file, node.source.line),
                            ErrorKind::type);
    }
    const GradCall call{{builder_, node.attrs, values(node.inputs)}, values(node.outputs), d_outputs};
    const std::vector<Value> d_inputs = op.grad(call);
    PARTITA_CHECK(d_inputs.size() == node.inputs.size(), "{}: {} gradients for {} operands", node.op, d_inputs.size(),
                  node.inputs.size());
    for (size_t i = 0; i < d_inputs.size(); ++i) {
      if (d_inputs[i] && depends_[node.inputs[i]]) accumulate(node.inputs[i], d_inputs[i]);
    }
  }

  void accumulate(ValueId value, Value d) {
    PARTITA_CHECK(d.type() == builder_.graph().type(value), "gradient {} of a value {}", print(d.type()),
                  print(builder_.graph().type(value)));
    Value& sum = gradients_[value];
    if (!sum) {
      sum = d;
      return;
    }
    const std::string origin = std::exchange(builder_.origin, "");  // of a sum over users of the value: none of them
    sum = builder_.apply("add", {sum, d});
    builder_.origin = origin;
  }

  std::vector<Value> values(const std::vector<ValueId>& ids) const {
    std::vector<Value> result;
    for (ValueId id : ids) result.push_back(builder_.value(id));
    return result;
  }

  Builder& builder_;
  std::vector<bool> depends_;
  std::vector<Value> gradients_;  // of the values of the forward graph
};

}  // namespace

std::vector<Value> differentiate(Builder& builder, Value loss, const std::vector<Value>& with_respect_to) {
  if (loss.type().elements() != 1 || !is_float(loss.dtype())) {
    throw InvalidArgument(fmt::format(
        "[autodiff] the loss is not one number, got {}, expected a float with one element", print(loss.type())));
  }
  Sweep sweep(builder, with_respect_to);
  sweep.run(loss);
  std::vector<Value> gradients;
  for (const Value& value : with_respect_to) gradients.push_back(sweep.gradient(value));
  return gradients;
}

}  // namespace partita
