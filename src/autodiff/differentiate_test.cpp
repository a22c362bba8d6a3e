#include <gtest/gtest.h>

#include "autodiff/training_graph.h"
#include "ops/registry.h"

namespace partita {
namespace {

constexpr std::string_view kForward = R"(partita graph 1
graph small
input %x: f64[4,3] batch=0
state %w: f64[3,2] parameter normal(0,1)
state %unused: f64[2] parameter zeros
%y = matmul(%x, %w)
%loss = reduce(%y) {kind=sum, axes=[0,1], scale=0.125}
output loss = %loss
)";

TEST(TrainingGraph, GradientNodesKnowTheirOrigin) {
  const TrainingGraph training = make_training_graph(parse_graph(kForward, all_ops()), all_ops(), {});
  bool found = false;
  for (const Node& node : training.graph.nodes) {
    if (node.phase == Phase::backward && node.op == "matmul") {
      EXPECT_EQ(node.origin, "y");
      found = true;
    }
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(parse_graph(print(training.graph), all_ops()).nodes.size(), training.graph.nodes.size());
}

TEST(TrainingGraph, ParameterWithoutGradientGetsZerosAndAWarning) {
  const TrainingGraph training = make_training_graph(parse_graph(kForward, all_ops()), all_ops(), {});
  ASSERT_EQ(training.warnings.size(), 1u);
  EXPECT_NE(training.warnings[0].find("'unused'"), std::string::npos);
}

TEST(TrainingGraph, DecaysOtherParametersThanThoseNamed) {
  const auto decay_of_w = [](std::vector<std::string> no_decay) {
    const OptimizerOptions options{.kind = OptimizerKind::sgd, .weight_decay = 0.5, .no_decay = std::move(no_decay)};
    const TrainingGraph training =
        make_training_graph(parse_graph(kForward, all_ops()), all_ops(), {.optimizer = options, .parameters = {"w"}});
    const std::string text = print(training.graph);
    return text.find("weight_decay=0.5") != std::string::npos;
  };
  EXPECT_TRUE(decay_of_w({}));
  EXPECT_TRUE(decay_of_w({"bias", "gamma"}));
  EXPECT_FALSE(decay_of_w({"gamma", "w"}));
}

TEST(TrainingGraph, UpdatesTheListedParametersOnly) {
  const TrainingGraph training =
      make_training_graph(parse_graph(kForward, all_ops()), all_ops(), {.parameters = {"w"}});
  EXPECT_GE(training.graph.find_state("w")->exit, 0);
  EXPECT_LT(training.graph.find_state("unused")->exit, 0);
  EXPECT_THROW(make_training_graph(parse_graph(kForward, all_ops()), all_ops(), {.parameters = {"v"}}),
               InvalidArgument);
}

TEST(TrainingGraph, RefusesAnOpWithoutGradient) {
  const Graph graph = parse_graph(
      "partita graph 1\nstate %w: f64[3] parameter zeros\n%a = relu_grad(%w, %w)\n%c = reduce(%a) {axes=[0]}\noutput "
      "loss = %c\n",
      all_ops());
  try {
    make_training_graph(graph, all_ops(), {});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("reaches an op that has none"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace partita
