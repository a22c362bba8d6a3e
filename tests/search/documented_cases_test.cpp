// Small graphs of the documented system's own tests with the plans that its searches found there: pinned, none costs
// less than what the exact search finds. Which of several plans that cost as much is found is a matter of constants.

#include <gtest/gtest.h>

#include "compiler/autodiff/training_graph.h"
#include "compiler/search/make_plan.h"
#include "compiler/search/search_cuts.h"
#include "frontend/network/functions.h"
#include "ir/graph/builder.h"
#include "ir/ops/registry.h"
#include "ir/sharding/strategy.h"

namespace partita {
namespace {

/// A graph under construction whose operands all get gradients, as those tests take them.
class CaseGraph {
 public:
  Value operand(const std::string& name, const Shape& shape) {
    return builder_.state(name, Type{DType::f32, shape}, {.kind = StateKind::parameter});
  }
  Graph training(Value result) {
    builder_.output("loss", reduce_sum(result));
    return make_training_graph(builder_.take(), all_ops(), {.optimizer = {.kind = OptimizerKind::sgd}}).graph;
  }

 private:
  Builder builder_{all_ops()};
};

struct Pin {
  std::string op;
  int which = 0;  // index among the nodes of this op
  std::string strategy;
};

struct DocumentedCase {
  std::string name;
  int64_t devices = 8;
  std::function<Value(CaseGraph&)> build;
  std::vector<Pin> pins;
};

/// The documents' division rounds and has no gradient here; a quotient is cut as it is.
std::vector<DocumentedCase> cases() {
  const auto quotient = [](const Shape& right, const Shape& divisor) {
    return [=](CaseGraph& g) {
      const Value product = matmul(g.operand("x", {64, 32}), g.operand("y", right));
      return product / g.operand("b", divisor);
    };
  };
  return {{"two products",
           16,
           [](CaseGraph& g) {
             return matmul(matmul(g.operand("x", {128, 32}), g.operand("y", {32, 64})), g.operand("b", {64, 64}));
           },
           {{"matmul", 0, "((16, 1), (1, 1))"}, {"matmul", 1, "((16, 1), (1, 1))"}}},
          {"quotient",
           8,
           quotient({32, 128}, {64, 128}),
           {{"matmul", 0, "((2, 1), (1, 4))"}, {"div", 0, "((2, 4), (2, 4))"}}},
          {"both are broadcast",
           8,
           quotient({32, 1}, {1, 64}),
           {{"matmul", 0, "((8, 1), (1, 1))"}, {"div", 0, "((8, 1), (1, 1))"}}},
          {"the right one is broadcast",
           8,
           quotient({32, 32}, {32}),
           {{"matmul", 0, "((4, 1), (1, 2))"}, {"div", 0, "((4, 2), (2))"}}},
          {"the left one is broadcast",
           8,
           quotient({32, 32}, {128, 64, 32}),
           {{"matmul", 0, "((4, 1), (1, 2))"}, {"div", 0, "((4, 2), (1, 4, 2))"}}},
          {"a product of products",
           8,
           [](CaseGraph& g) {
             const Value first = matmul(g.operand("x", {32, 8}), g.operand("y", {8, 16}));
             const Value second = matmul(g.operand("z", {8, 16}), g.operand("w", {16, 32}));
             return matmul(second, first);
           },
           {{"matmul", 0, "((1, 1), (1, 8))"}, {"matmul", 1, "((1, 1), (1, 1))"}, {"matmul", 2, "((1, 1), (1, 8))"}}},
          {"a product, then one of matrices",
           8,
           [](CaseGraph& g) {
             const Value product = matmul(g.operand("x", {512, 1024}), g.operand("y", {1024, 128}));
             return matmul(reshape(product, {64, 32, 32}), g.operand("b", {64, 32, 8}));
           },
           {{"matmul", 1, "((4, 2, 1), (4, 1, 1))"}}},
          {"pointwise from one mark",
           16,
           [](CaseGraph& g) {
             return relu(sigmoid(g.operand("x", {64, 32}) * g.operand("w", {64, 32})));
           },
           {{"sigmoid", 0, "((4, 4))"}}}};
}

PartialPlan pinned(const DocumentedCase& one, const Graph& graph, const Rules& rules, const Mesh& mesh) {
  PartialPlan pins(graph);
  for (const Pin& pin : one.pins) {
    int seen = 0, pinned = 0;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (node.phase != Phase::forward || node.op != pin.op || seen++ != pin.which) continue;
      const std::vector<Type> inputs = graph.types(node.inputs), outputs = graph.types(node.outputs);
      const CutTarget target{node.name, rules[n], inputs, outputs, rules.expandable(n)};
      pins.cuts[n] = cut_of({.inputs = parse_strategy(pin.strategy)}, target, mesh).cut;
      ++pinned;
    }
    EXPECT_EQ(pinned, 1) << pin.op << " " << pin.which;
  }
  return pins;
}

TEST(DocumentedCases, NoneCostsLess) {
  for (const DocumentedCase& one : cases()) {
    SCOPED_TRACE(one.name);
    CaseGraph builder;
    const Graph graph = builder.training(one.build(builder));
    const Rules rules(graph, all_ops());
    const Mesh mesh({{"ranks", one.devices}});
    const PartialPlan pins = pinned(one, graph, rules, mesh);
    for (const double flops : {1e-4, 1e-3, 1e-2, 1e-1}) {
      CutSearch search{Search::exact, PlanCosts::bytes(mesh)};
      search.costs.flop_seconds = flops;
      const FoundCuts found = search_cuts(graph, rules, all_ops(), mesh, PartialPlan(graph), search);
      const FoundCuts documented = search_cuts(graph, rules, all_ops(), mesh, pins, search);
      EXPECT_LE(found.seconds, documented.seconds * (1 + 1e-9)) << flops;
      EXPECT_EQ(found.lower_bound, found.seconds);
    }
    // From the same pins propagation decides all else, too.
    EXPECT_NO_THROW(make_plan(graph, all_ops(), mesh, {.parallel = Parallel::automatic}));
  }
}

}  // namespace
}  // namespace partita
