#include "compiler/plan/assign_stages.h"

#include <gtest/gtest.h>

#include "frontend/network/build_graph.h"
#include "frontend/network/layers/layers.h"
#include "frontend/network/test_columns.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

using NamedLayers = std::vector<std::pair<std::string, LayerPtr>>;

/// Returns three dense layers with the given stages in the code; -1: no stage.
Graph graph_of_stages(const std::vector<int>& stages) {
  NamedLayers layers;
  for (size_t i = 0; i < stages.size(); ++i) {
    layers.emplace_back(fmt::format("fc{}", i), dense(5));
    if (stages[i] >= 0) layers.back().second->pipeline_stage(stages[i]);
  }
  return build_graph({"test", sequential(std::move(layers))}, all_ops(),
                     {.batch = 4, .columns = labelled_columns({"image", {DType::f32, {7}}})});
}

/// Returns the number of stages and the stage of each product, or the error.
std::string assigned(const std::vector<int>& stages, int64_t count,
                     const std::vector<StageAnnotation>& annotations = {}) {
  try {
    Graph graph = graph_of_stages(stages);
    annotate_stages(graph, annotations);
    const StageAssignment assignment = assign_stages(graph, Rules(graph, all_ops()), count);
    std::string text = fmt::format("{}:", assignment.stages);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].op == "matmul") text += fmt::format(" {}", assignment.nodes[n]);
    }
    return text;
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

TEST(AssignStages, AsTheCodeSays) {
  EXPECT_EQ(assigned({-1, -1, -1}, 0), "1: 0 0 0");
  EXPECT_EQ(assigned({0, 1, 2}, 0), "3: 0 1 2");
  EXPECT_EQ(assigned({0, -1, 1}, 0), "2: 0 0 1");
  EXPECT_EQ(assigned({-1, 1, -1}, 0),
            "[stages] a stage has no layers, got none on stage 0 of 2, expected layers on each, or 1 stages");
  EXPECT_EQ(assigned({0, 1, 2}, 1), "1: 0 0 0");
  EXPECT_EQ(assigned({-1, -1, -1}, 3), "3: 0 1 2");
}

TEST(AssignStages, StagesThatCannotBe) {
  EXPECT_EQ(assigned({0, 1, 3}, 2),
            "[stages] a layer is on a stage that does not exist, got stage 3 of 2, expected stages 0 to 1");
  EXPECT_EQ(assigned({0, 1, 3}, 0),
            "[stages] a stage has no layers, got none on stage 2 of 4, expected layers on each, or 3 stages");
  EXPECT_EQ(assigned({0, 1, -1}, 4),
            "[stages] a stage has no layers, got none on stage 2 of 4, expected layers on each, or 2 stages");
  const std::string backwards = assigned({1, 0, 1}, 0);
  EXPECT_TRUE(backwards.starts_with(
      "[stages] a node needs the result of a later stage, got net/fc1/matmul2 (plan/assign_stages_test.cpp:"))
      << backwards;
  EXPECT_NE(backwards.find("of stage 0, which uses net/fc0/bias_add ("), std::string::npos) << backwards;
  EXPECT_TRUE(backwards.ends_with("of stage 1, expected it on stage 1 or later")) << backwards;
  EXPECT_TRUE(
      assigned({-1, -1, -1}, 100).starts_with("[stages] more stages than the network has nodes, got 100 stages of "))
      << assigned({-1, -1, -1}, 100);
}

TEST(AssignStages, AnnotationsAndTheCode) {
  EXPECT_EQ(assigned({-1, -1, -1}, 0, {{"net/fc1", 1}, {"net/fc0", 0}}), "2: 0 1 1");
  EXPECT_EQ(assigned({0, -1, 1}, 0, {{"net/fc1", 1}}), "2: 0 1 1");
  EXPECT_EQ(assigned({0, 1, 1}, 0, {{"net/fc1", 1}}), "2: 0 1 1");
  EXPECT_EQ(assigned({-1, -1, -1, -1}, 0, {{"net/fc*", 0}, {"net/fc3", 0}}), "1: 0 0 0 0");
  const std::string two = assigned({0, 1, 2}, 0, {{"net/fc1", 0}});
  EXPECT_TRUE(
      two.starts_with("[stages] a layer is on two stages, got stage 1 in the code and 'net/fc1=0' for net/fc1/matmul "
                      "(plan/assign_stages_test.cpp:"))
      << two;
  EXPECT_TRUE(two.ends_with("), expected one")) << two;
}

TEST(AssignStages, AnnotationsAreReadBack) {
  for (const std::string text : {"net/h/0..5=0", "net/*=1023", "a=b=3"}) {
    EXPECT_EQ(print(parse_stage_annotation(text)), text);
  }
  for (const std::string text :
       {"", "=", "net", "net=", "net=1024", "net=99999999999999999999", "net=0x1", "net= 1", "=1"}) {
    EXPECT_THROW(parse_stage_annotation(text), InvalidArgument) << text;
  }
}

}  // namespace
}  // namespace partita
