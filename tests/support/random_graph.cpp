#include "support/random_graph.h"

#include <numeric>

#include "compiler/autodiff/training_graph.h"
#include "ir/graph/builder.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

class GraphDraw {
 public:
  explicit GraphDraw(Dice& dice) : dice_(dice), builder_(all_ops(), "random") {}

  /// The loss is the sum of all numbers that nothing uses.
  Graph run(int64_t nodes) {
    while (static_cast<int64_t>(builder_.graph().nodes.size()) + 1 < nodes) {
      if (!add_node()) break;
    }
    std::vector<Value> ends;
    const auto users = builder_.graph().users();
    for (const Value& value : values_) {
      const bool made = builder_.graph().values[value.id()].producer >= 0;
      if (made && users[value.id()].empty() && is_float(value.dtype())) ends.push_back(value);
    }
    if (ends.empty()) ends.push_back(operand({DType::f64, {4, 6}}));
    Value loss;
    for (const Value& end : ends) {
      std::vector<int64_t> axes(static_cast<size_t>(end.type().rank()));
      std::iota(axes.begin(), axes.end(), 0);
      if (loss && static_cast<int64_t>(builder_.graph().nodes.size()) + 2 > nodes + 1) break;
      const Value sum =
          axes.empty() ? end : builder_.apply("reduce", {end}, ReduceAttrs{.kind = Reduce::sum, .axes = axes});
      if (loss && sum.dtype() != loss.dtype()) continue;
      loss = loss ? builder_.apply("add", {loss, sum}) : sum;
    }
    builder_.output("loss", loss);
    return builder_.take();
  }

 private:
  int64_t below(size_t count) { return dice_.below(static_cast<int64_t>(count)); }

  /// An op of the registry on values that are there if it takes them, else on some like its own samples.
  bool add_node() {
    for (int attempt = 0; attempt < 100; ++attempt) {
      const OpDef& op = all_ops().all()[static_cast<size_t>(below(all_ops().all().size()))];
      if (op.samples.empty() || !op.kernel) continue;
      const Sample& sample = op.samples[static_cast<size_t>(below(op.samples.size()))];
      std::vector<Value> operands;
      const bool any = below(4) > 0 && !values_.empty();
      for (const SampleInput& input : sample.inputs) operands.push_back(any ? recent() : operand(input.type));
      std::vector<Type> types;
      for (const Value& value : operands) types.push_back(value.type());
      const std::vector<Type> none;
      try {
        for (const Type& type : op.infer({sample.attrs.empty() ? op.attrs : sample.attrs, types, none})) {
          if (type.elements() == 0) throw InvalidArgument("nothing");
        }
      } catch (const Error&) {
        continue;
      }
      for (const Value& value : builder_.apply_all(op.name, operands, sample.attrs)) values_.push_back(value);
      return true;
    }
    return false;
  }

  /// A value that is there, rather one of the last.
  const Value& recent() {
    const size_t back =
        static_cast<size_t>(std::min({below(values_.size()), below(values_.size()), below(values_.size())}));
    return values_[values_.size() - 1 - back];
  }

  /// One that is there, or a new input or parameter.
  Value operand(const Type& type) {
    std::vector<Value> alike;
    for (const Value& value : values_) {
      if (value.type() == type) alike.push_back(value);
    }
    if (!alike.empty() && below(5) > 0) return alike[static_cast<size_t>(below(alike.size()))];
    const std::string name = fmt::format("v{}", entries_++);
    const bool is_parameter = is_float(type.dtype) && below(2) == 0;
    values_.push_back(is_parameter ? builder_.state(name, type, {}) : builder_.input(name, type));
    return values_.back();
  }

  Dice& dice_;
  Builder builder_;
  std::vector<Value> values_;
  int entries_ = 0;
};

}  // namespace

Graph random_graph(int64_t nodes, Dice& dice) {
  Graph forward;
  for (int attempt = 0; attempt < 20; ++attempt) {  // some draws leave little that the loss depends on
    Graph drawn = remove_dead_nodes(GraphDraw(dice).run(nodes));
    const int64_t count = static_cast<int64_t>(drawn.nodes.size());
    if (count > static_cast<int64_t>(forward.nodes.size()) && count <= nodes + 1) forward = std::move(drawn);
    if (static_cast<int64_t>(forward.nodes.size()) >= nodes) break;
  }
  try {
    return make_training_graph(forward, all_ops(), {}).graph;
  } catch (const InvalidArgument&) {
    return forward;  // nothing to train, or an op without a gradient
  }
}

PartialPlan random_pins(const Graph& graph, const Mesh& mesh, Dice& dice) {
  PartialPlan pins(graph);
  const auto dims_of = [&](const Type& type) {
    std::vector<Axes> dims(type.shape.size());
    for (int axis = 0; axis < static_cast<int>(mesh.axes().size()) && !dims.empty(); ++axis) {
      const size_t d = static_cast<size_t>(dice.below(static_cast<int64_t>(dims.size())));
      dims[d].push_back(axis);
      if (dice.below(2) == 0 || mesh.ways(dims[d]) > type.shape[d]) dims[d].pop_back();
    }
    return dims;
  };
  for (size_t i = 0; i < graph.inputs.size(); ++i) pins.inputs[i] = dims_of(graph.type(graph.inputs[i].value));
  for (size_t s = 0; s < graph.states.size(); ++s) {
    const State& state = graph.states[s];
    if (state.owner.empty() && dice.below(4) == 0) pins.states[s] = dims_of(graph.type(state.entry));
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.phase != Phase::forward || dice.below(4) > 0) continue;
    const ShardingRule rule = rule_of(graph, node, all_ops());
    pins.cuts[n] = random_cut(rule, mesh, all_ops().at(node.op).expand != nullptr, dice);
  }
  return pins;
}

}  // namespace partita
