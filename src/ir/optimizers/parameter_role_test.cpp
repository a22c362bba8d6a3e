#include "ir/optimizers/parameter_role.h"

#include <gtest/gtest.h>

#include "compiler/autodiff/optimizer.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

/// Returns the names of the parameters of a model that are hidden matrices.
std::vector<std::string> hidden_matrices(const std::string& spec) {
  const ZooModel model = make_model(spec);
  const Graph graph = build_graph(model.network(model.recipe.training.loss, {}), all_ops(),
                                  {.batch = 2, .columns = model.columns(DType::f32), .dtype = DType::f32});
  Builder builder(all_ops(), graph);
  std::vector<std::string> names;
  for (const State& state : graph.states) {
    if (state.kind != StateKind::parameter) continue;
    if (is_hidden_matrix(builder, builder.value(state.entry))) names.push_back(graph.values[state.entry].name);
  }
  return names;
}

TEST(ParameterRole, HiddenMatricesAreNoTablesHeadsOrVectors) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(hidden_matrices("mlp:hidden=8,layers=2"), (Names{"fc1.weight", "fc2.weight"}));
  EXPECT_EQ(hidden_matrices("lenet"), (Names{"conv1.weight", "conv2.weight", "fc1.weight", "fc2.weight"}));
  for (const std::string& name : hidden_matrices("gpt:layers=1,hidden=16,heads=2,seq=8")) {
    EXPECT_NE(name.find("h.0."), std::string::npos) << name;
    EXPECT_NE(name.find("weight"), std::string::npos) << name;
  }
  EXPECT_EQ(hidden_matrices("gpt:layers=1,hidden=16,heads=2,seq=8").size(), 6u);
}

TEST(ParameterRole, OfAGraphWithoutForwardIsThatOfTheShape) {
  Builder builder(all_ops());
  const Value matrix = builder.state("w", {DType::f32, {2, 3}}, {}), vector = builder.state("b", {DType::f32, {3}}, {});
  EXPECT_TRUE(is_hidden_matrix(builder, matrix));
  EXPECT_FALSE(is_hidden_matrix(builder, vector));
}

}  // namespace
}  // namespace partita
