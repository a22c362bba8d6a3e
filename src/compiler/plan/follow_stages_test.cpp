#include "compiler/plan/follow_stages.h"

#include <gtest/gtest.h>

#include "compiler/plan/assign_stages.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

/// Returns stages by node name.
std::map<std::string, int> stages_by_name(const Graph& graph, const StageAssignment& assignment) {
  std::map<std::string, int> stages;
  for (size_t n = 0; n < graph.nodes.size(); ++n) stages[graph.nodes[n].name] = assignment.nodes[n];
  return stages;
}

Graph graph_of(const std::string& body) {
  return parse_graph(
      "partita graph 1\ngraph net\ninput %x: f32[4,4] batch=0\n"
      "state %w: f32[4,4] parameter normal(0,1)\nstate %m: f32[4] statistic zeros\n" +
          body,
      all_ops());
}

// Stages of a training: a product, noise, a second product and, on the next stage, a norm that keeps statistics.
NamedStages trained_stages() {
  Graph graph = graph_of(R"(%a = matmul(%x, %w) : f32[4,4] ; forward scope=net/fc
%n = relu(%a) : f32[4,4] ; forward scope=net/noise
%b = matmul(%n, %w) : f32[4,4] ; forward scope=net/fc
%c = bias_add(%b, %m) : f32[4,4] ; forward scope=net/norm
%d = exp(%c) : f32[4,4] ; forward scope=net/norm
output d = %d
)");
  for (size_t n = 0; n < graph.nodes.size(); ++n) graph.nodes[n].stage = n < 2 ? 0 : n < 3 ? 1 : 2;
  return named_stages(graph, assign_stages(graph, Rules(graph, all_ops()), 3));
}

TEST(FollowStages, NodesAreFoundByTheirLayers) {
  const Graph graph = graph_of(R"(%a = matmul(%x, %w) : f32[4,4] ; forward scope=net/fc
%b = matmul(%a, %w) : f32[4,4] ; forward scope=net/fc
%e = tanh(%b) : f32[4,4] ; forward scope=net/other
%c = bias_add(%e, %m) : f32[4,4] ; forward scope=net/norm
output d = %c
)");
  const StageAssignment found = follow_stages(graph, trained_stages());
  EXPECT_EQ(found.stages, 3);
  EXPECT_EQ(stages_by_name(graph, found), (std::map<std::string, int>{{"a", 0}, {"b", 1}, {"c", 2}, {"e", 1}}));
  EXPECT_EQ(found.states, (std::vector<int>{0, 2}));
}

TEST(FollowStages, NoNodeIsBeforeItsOperandsAndStates) {
  // Another op replaces the norm and must come after its state. Nodes before all known ones are with their user.
  const Graph graph = graph_of(R"(%p = tanh(%x) : f32[4,4] ; forward scope=net/first
%s = add(%p, %x) : f32[4,4] ; forward scope=net/first
%c = mul(%s, %m) : f32[4,4] ; forward scope=net/norm
%a = matmul(%c, %w) : f32[4,4] ; forward scope=net/fc
output d = %a
)");
  const StageAssignment found = follow_stages(graph, trained_stages());
  EXPECT_EQ(stages_by_name(graph, found), (std::map<std::string, int>{{"a", 2}, {"c", 2}, {"p", 2}, {"s", 2}}));
  EXPECT_EQ(found.states, (std::vector<int>{0, 2}));
}

TEST(FollowStages, AGraphWithoutStagesHasOne) {
  const Graph graph = graph_of("%a = matmul(%x, %w) : f32[4,4] ; forward scope=net/fc\noutput d = %a\n");
  const StageAssignment found = follow_stages(graph, {});
  EXPECT_EQ(found.stages, 1);
  EXPECT_EQ(found.nodes, std::vector<int>{0});
  EXPECT_EQ(found.states, (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace partita
