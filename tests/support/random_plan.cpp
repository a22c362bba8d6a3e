#include "support/random_plan.h"

#include <gtest/gtest.h>

#include "compiler/plan/cut_micro_batches.h"
#include "compiler/plan/shard_optimizer.h"
#include "ir/graph/rules.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

std::vector<Axes> random_dims(const Type& type, const Mesh& mesh, Dice& dice) {
  std::vector<Axes> dims(type.shape.size());
  for (size_t axis = 0; axis < mesh.axes().size() && !dims.empty(); ++axis) {
    Axes& axes = dims[dice.below(static_cast<int64_t>(dims.size()))];
    if (dice.below(2) == 0) continue;
    axes.push_back(static_cast<int>(axis));
    if (mesh.ways(axes) > type.shape[&axes - dims.data()]) axes.pop_back();
  }
  return dims;
}

}  // namespace

Cut random_cut(const ShardingRule& rule, const Mesh& mesh, bool expandable, Dice& dice) {
  const Cut none(rule.factors.size());
  for (int attempt = 0; attempt < 12 && !rule.factors.empty(); ++attempt) {
    Cut cut = none;
    for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
      if (dice.below(4) > 0) cut[dice.below(static_cast<int64_t>(cut.size()))].push_back(static_cast<int>(axis));
    }
    if (illegal(rule, cut, mesh).empty() && (expandable || !needs_expansion(rule, cut))) return cut;
  }
  return none;
}

Plan random_plan(const Graph& graph, const Mesh& mesh, uint64_t seed) {
  Dice dice(seed);
  Plan plan{.graph = graph.name, .search = "random", .mesh = mesh, .inputs = {}, .cuts = {}, .results = {}};
  for (const Input& input : graph.inputs) plan.inputs.push_back(random_dims(graph.type(input.value), mesh, dice));
  for (const State& state : graph.states) plan.inputs.push_back(random_dims(graph.type(state.entry), mesh, dice));
  for (const Node& node : graph.nodes) {
    const bool expandable = all_ops().at(node.op).expand != nullptr;
    plan.cuts.push_back(random_cut(rule_of(graph, node, all_ops()), mesh, expandable, dice));
  }
  return plan;
}

Plan random_plan_in_time(const Graph& graph, const Mesh& mesh, uint64_t seed) {
  const Rules rules(graph, all_ops());
  const OptimizerSharding zero{.level = static_cast<int64_t>((seed + 3) % 4), .threshold = 0};
  const Plan plan = shard_optimizer(random_plan(graph, mesh, seed), graph, rules, zero);
  const int64_t batch = graph.type(graph.inputs.front().value).shape[0];
  for (const int64_t count : {6, 4, 3, 2}) {
    if (batch % count != 0) continue;
    try {
      return cut_micro_batches(plan, graph, rules, count);
    } catch (const InvalidArgument& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("[micro-batches] ")) << error.what();
    }
  }
  return plan;
}

}  // namespace partita
