#include "compiler/autodiff/differentiate.h"

#include <algorithm>
#include <utility>

#include "ir/ops/constant.h"

namespace partita {
namespace {

/// Returns for each value of the graph, by id, whether it is one of `roots` or depends on one.
std::vector<bool> depends_on(const Graph& graph, const std::vector<Value>& roots) {
  std::vector<bool> depends(graph.values.size(), false);
  for (const Value& root : roots) depends[root.id()] = true;
  for (const Node& node : graph.nodes) {
    const bool any = any_marked(node.inputs, depends);
    for (ValueId output : node.outputs) depends[output] = any || depends[output];  // a root may be made by a node
  }
  return depends;
}

class Sweep {
 public:
  Sweep(Builder& builder, const std::vector<Value>& roots)
      : builder_(builder), depends_(depends_on(builder.graph(), roots)), gradients_(depends_.size()) {
    const std::vector<OwnGradient>& all = builder.graph().own_gradients;
    const size_t nodes = builder.graph().nodes.size();
    own_of_.resize(all.empty() ? 0 : nodes, -1);
    for (size_t i = 0; i < all.size(); ++i) {  // inner parts come after those around them
      PARTITA_CHECK(static_cast<size_t>(all[i].end) <= nodes, "a gradient of nodes to {}, of {}", all[i].end, nodes);
      std::fill(own_of_.begin() + all[i].begin, own_of_.begin() + all[i].end, static_cast<int>(i));
    }
  }

  void run(Value loss, Value factor) {
    builder_.phase = Phase::backward;
    const NodeId producer = builder_.graph().values[loss.id()].producer;
    if (producer >= 0) enter(builder_.graph().nodes[producer]);
    Value gradient = factor && loss.type().rank() == 0 ? factor : constant(builder_, 1.0, loss.type());
    if (factor && loss.type().rank() > 0) gradient = builder_.apply("mul", {gradient, factor});
    gradients_[loss.id()] = gradient;
    for (NodeId n = producer; n >= 0; --n) {
      const int own = own_of_.empty() ? -1 : own_of_[static_cast<size_t>(n)];
      if (own < 0) {
        visit(n);
      } else {
        const OwnGradient part = builder_.graph().own_gradients[static_cast<size_t>(own)];
        visit(part);
        n = part.begin;
      }
    }
    builder_.origin.clear();
  }

  Value gradient(Value value) const { return gradients_[value.id()]; }

 private:
  void enter(const Node& node) {
    builder_.scope = node.scope;
    builder_.source = node.source;
    builder_.origin = node.name;
  }

  /// Whether a gradient of one of `outputs` has arrived and one of `inputs` is or depends on a root, so it needs a
  /// gradient.
  bool is_needed(const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs) const {
    return std::ranges::any_of(outputs, [&](ValueId id) { return bool(gradients_[id]); }) &&
           any_marked(inputs, depends_);
  }

  /// Checks that no gradient is lost: each value made before `part` that it uses and that needs a gradient must be in
  /// `part.inputs`, and each value that it makes and that a gradient has reached must be in `part.outputs`. Throws
  /// InvalidArgument otherwise.
  void require_closed(const OwnGradient& part) const {
    const Graph& graph = builder_.graph();
    const auto is_in = [](const std::vector<ValueId>& ids, ValueId id) {
      return std::ranges::find(ids, id) != ids.end();
    };
    const auto refuse = [&](const char* what, ValueId id, const char* expected) {
      throw InvalidArgument(ErrorKind::type, "[gradient] a function with a custom gradient {}, got '{}', expected {}",
                            what, graph.values[id].name, expected);
    };
    for (NodeId n = part.begin; n < part.end; ++n) {
      for (const ValueId used : graph.nodes[n].inputs) {
        if (depends_[used] && graph.values[used].producer < part.begin && !is_in(part.inputs, used)) {
          refuse("uses a value that is not an argument", used, "it as an argument");
        }
      }
      for (const ValueId made : graph.nodes[n].outputs) {
        if (gradients_[made] && !is_in(part.outputs, made))
          refuse("computes a value that is used elsewhere but is not a result", made, "it as a result");
      }
    }
  }

  void visit(const OwnGradient& part) {
    require_closed(part);
    if (!is_needed(part.inputs, part.outputs)) return;
    enter(builder_.graph().nodes[part.end - 1]);
    std::vector<Value> d_outputs;
    for (const ValueId output : part.outputs) d_outputs.push_back(gradients_[output]);
    const std::vector<Value> d_inputs = part.gradient(builder_, d_outputs);
    if (d_inputs.size() != part.inputs.size()) {
      throw InvalidArgument("[gradient] wrong number of gradients, got {}, expected {}, one for each input",
                            d_inputs.size(), part.inputs.size());
    }
    builder_.phase = Phase::backward;
    enter(builder_.graph().nodes[part.end - 1]);
    for (size_t i = 0; i < d_inputs.size(); ++i) {
      if (!d_inputs[i] || !depends_[part.inputs[i]]) continue;
      const Type wanted = builder_.graph().type(part.inputs[i]);
      if (d_inputs[i].type() != wanted) {
        throw InvalidArgument("[gradient] the gradient of input {} has the wrong type, got {}, expected {}", i,
                              print(d_inputs[i].type()), print(wanted));
      }
      accumulate(part.inputs[i], d_inputs[i]);
    }
  }

  void visit(NodeId id) {
    const Node node = builder_.graph().nodes[id];  // a copy, since nodes are appended below
    if (!is_needed(node.inputs, node.outputs)) return;
    std::vector<Value> d_outputs;
    for (ValueId output : node.outputs) d_outputs.push_back(gradients_[output]);
    enter(node);
    const OpDef& op = builder_.ops().at(node.op);
    if (!op.grad) {
      throw InvalidArgument(ErrorKind::type,
                            "[autodiff] cannot differentiate an op that has no gradient, got '{}' at {} ({}:{}), "
                            "expected a differentiable op",
                            node.op, node.name, node.source.file, node.source.line);
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
    const std::string origin = std::exchange(builder_.origin, "");  // the sum belongs to none of the value's users
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
  std::vector<Value> gradients_;  // per value of the forward graph
  std::vector<int> own_of_;       // per node: its part with a gradient of its own, or -1; empty if no part has one
};

}  // namespace

std::vector<Value> differentiate(Builder& builder, Value loss, const std::vector<Value>& with_respect_to,
                                 Value factor) {
  if (loss.type().elements() != 1 || !is_float(loss.dtype())) {
    throw InvalidArgument("[autodiff] the loss is not one number, got {}, expected a float with one element",
                          print(loss.type()));
  }
  Sweep sweep(builder, with_respect_to);
  sweep.run(loss, factor);
  std::vector<Value> gradients;
  for (const Value& value : with_respect_to) gradients.push_back(sweep.gradient(value));
  return gradients;
}

}  // namespace partita
