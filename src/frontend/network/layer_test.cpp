#include "frontend/network/layer.h"

#include <gtest/gtest.h>

#include "frontend/network/build_graph.h"
#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "frontend/network/test_columns.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

Graph build_of_layer(LayerPtr net, Shape image, bool training = true) {
  return build_graph({"test", std::move(net)}, all_ops(),
                     {.batch = 4,
                      .columns = labelled_columns({"image", {DType::f32, std::move(image)}}),
                      .purpose = training ? Purpose::training : Purpose::evaluation});
}

std::string error_of(LayerPtr net, Shape image) {
  try {
    build_of_layer(std::move(net), std::move(image));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> state_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const State& state : graph.states) names.push_back(graph.values[state.entry].name);
  return names;
}

std::vector<const Node*> nodes_of(const Graph& graph, std::string_view op) {
  std::vector<const Node*> found;
  for (const Node& node : graph.nodes) {
    if (node.op == op) found.push_back(&node);
  }
  return found;
}

using Named = std::vector<std::pair<std::string, LayerPtr>>;

TEST(Layer, ParametersAndScopesAreNamedByThePath) {
  const LayerPtr inner = sequential(std::vector<LayerPtr>{dense(5), batch_norm()});
  const Graph graph = build_of_layer(sequential(Named{{"body", inner}, {"fc", dense(3)}}), {7});
  EXPECT_EQ(state_names(graph),
            (std::vector<std::string>{"body.0.weight", "body.0.bias", "body.1.weight", "body.1.bias",
                                      "body.1.running_mean", "body.1.running_var", "fc.weight", "fc.bias"}));
  EXPECT_EQ(nodes_of(graph, "matmul")[0]->scope, "net/body/0");
  EXPECT_EQ(nodes_of(graph, "matmul")[1]->scope, "net/fc");
  EXPECT_EQ(graph.type(graph.find_state("fc.weight")->entry).shape, (Shape{3, 5}));
}

class Residual : public Layer {
 public:
  explicit Residual(LayerPtr body, CallLocation where = CallLocation::current())
      : Layer(where), body_(std::move(body)) {}
  Value construct(Context& context, Value x) override { return x + context.call("body", *body_, x); }

 private:
  LayerPtr body_;
};

TEST(Layer, LayersKeepTheLineWhereTheyWereWritten) {
  const LayerPtr fc = dense(7);
  EXPECT_EQ(fc->where(), (SourceLocation{"network/layer_test.cpp", __LINE__ - 1}));
  const LayerPtr own = share(Residual(fc));
  EXPECT_EQ(own->where(), (SourceLocation{"network/layer_test.cpp", __LINE__ - 1}));
  EXPECT_EQ(state_names(build_of_layer(own, {7})), (std::vector<std::string>{"body.weight", "body.bias"}));
}

TEST(Layer, ALayerCalledTwiceIsTied) {
  const LayerPtr fc = dense(7), norm = batch_norm();
  const Graph graph = build_of_layer(lambda([=](Context& context, Value x) {
                                       for (int i = 0; i < 2; ++i) {
                                         x = context.call(fmt::format("norm{}", i), *norm,
                                                          context.call(fmt::format("fc{}", i), *fc, x));
                                       }
                                       return x;
                                     }),
                                     {7});
  EXPECT_EQ(state_names(graph), (std::vector<std::string>{"fc0.weight", "fc0.bias", "norm0.weight", "norm0.bias",
                                                          "norm0.running_mean", "norm0.running_var"}));
  EXPECT_EQ(nodes_of(graph, "matmul")[1]->scope, "net/fc1");
}

TEST(Layer, ATiedNormMovesItsStatisticsTwice) {
  const LayerPtr norm = batch_norm();
  const Graph graph = build_of_layer(sequential(Named{{"a", norm}, {"b", norm}}), {7});
  EXPECT_EQ(state_names(graph).size(), 4U);
  const auto moves = nodes_of(graph, "running_statistics");
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_EQ(moves[1]->inputs[0], moves[0]->outputs[0]);
  EXPECT_EQ(graph.find_state("a.running_mean")->exit, moves[1]->outputs[0]);
  EXPECT_EQ(graph.find_state("a.running_var")->exit, moves[1]->outputs[1]);
}

TEST(Layer, OnlyKnownStatisticsAreUpdated) {
  const auto update = [](const std::string& name) {
    return lambda([=](Context& context, Value x) {
      context.update_statistic(name, context.statistic("count", {}, constant_initializer(0)));
      return x;
    });
  };
  EXPECT_EQ(state_names(build_of_layer(update("count"), {7})), std::vector<std::string>{"count"});
  const std::string error = error_of(update("cuont"), {7});
  EXPECT_TRUE(
      error.starts_with("[layer] unknown statistic, got 'cuont', expected one that statistic() has returned, "
                        "did you mean 'count'?"))
      << error;
}

TEST(Layer, TwoLayersOfOneNameAreRefused) {
  const std::string error = error_of(sequential(Named{{"fc", dense(7)}, {"fc", dense(7)}}), {7});
  EXPECT_TRUE(error.starts_with("[layer] two layers are called 'fc'")) << error;
}

TEST(Layer, FrozenLayersFreezeTheirChildren) {
  const LayerPtr body = sequential(std::vector<LayerPtr>{dense(5)});
  body->requires_grad(false);
  const auto net = sequential(Named{{"body", body}, {"fc", dense(3)}});
  const Graph graph = build_of_layer(net, {7});
  EXPECT_FALSE(graph.find_state("body.0.weight")->requires_grad);
  EXPECT_TRUE(graph.find_state("fc.weight")->requires_grad);
  net->requires_grad(false);
  EXPECT_FALSE(build_of_layer(net, {7}).find_state("fc.weight")->requires_grad);
}

TEST(Layer, StagesAreThoseOfTheInnermostLayerThatHasOne) {
  const LayerPtr body = sequential(std::vector<LayerPtr>{dense(5), relu_layer(), dense(4)}), head = dense(3);
  body->pipeline_stage(1);
  std::vector<int> stages;
  const auto list_stages = [&] {
    stages.clear();
    const Graph graph = build_of_layer(sequential(Named{{"body", body}, {"fc", head}}), {7});
    for (const Node* node : nodes_of(graph, "matmul")) stages.push_back(node->stage);
  };
  list_stages();
  EXPECT_EQ(stages, (std::vector<int>{1, 1, -1}));
  head->pipeline_stage(2);
  list_stages();
  EXPECT_EQ(stages, (std::vector<int>{1, 1, 2}));
  const LayerPtr first = dense(5);
  first->pipeline_stage(0);
  const LayerPtr outer = sequential(std::vector<LayerPtr>{first, dense(4)});
  outer->pipeline_stage(1);
  std::vector<int> nested;
  const Graph graph = build_of_layer(outer, {7});
  for (const Node* node : nodes_of(graph, "matmul")) nested.push_back(node->stage);
  EXPECT_EQ(nested, (std::vector<int>{0, 1}));
}

TEST(Layer, StagesThatCannotBeAreRefused) {
  const LayerPtr fc = dense(3);
  const int line = __LINE__ - 1;
  for (const int stage : {-1, 1024, -2147483647}) {
    try {
      fc->pipeline_stage(stage);
      FAIL() << "accepted " << stage;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(std::string(error.what()),
                fmt::format("[layer] bad pipeline stage, got {} at network/layer_test.cpp:{}, expected 0 to 1023",
                            stage, line));
    }
  }
  EXPECT_EQ(fc->stage(), -1);
  fc->pipeline_stage(1023);
  EXPECT_EQ(fc->stage(), 1023);
}

TEST(Layer, ErrorsNameTheInnermostLayerOnce) {
  const LayerPtr conv = conv2d(3, 3);
  const int line = __LINE__ - 1;
  const std::string error = error_of(sequential(Named{{"body", sequential(Named{{"conv1", conv}})}}), {784});
  EXPECT_EQ(error, fmt::format("[conv2d] wrong number of dimensions, got "
                               "f32[4,784], expected 4 dimensions "
                               "[n, channels, height, width] (layer "
                               "net/body/conv1 at network/layer_test.cpp:{})",
                               line));
}

TEST(Layer, ErrorsOfOpsAtTheRootNameTheNetwork) {
  const std::string error = error_of(lambda([](Context&, Value x) { return matmul(x, x); }), {7});
  EXPECT_TRUE(error.starts_with("[matmul]")) << error;
  EXPECT_NE(error.find("(layer net at network/layer_test.cpp:"), std::string::npos) << error;
}

TEST(Layer, BadLayersAreRefused) {
  const std::vector<LayerPtr> bad{
      dense(0),
      dense(int64_t{1} << 62),
      dropout(1),
      dropout(-0.5),
      embedding(0, 4),
      lambda([](Context&, Value) { return Value(); }),
      sequential(Named{{"a.b", relu_layer()}}),
      sequential(Named{{"", relu_layer()}}),
  };
  for (size_t i = 0; i < bad.size(); ++i) EXPECT_NE(error_of(bad[i], {7}).find("(layer net"), std::string::npos) << i;
  const std::vector<LayerPtr> bad_windows{
      conv2d(0, 3),
      conv2d(3, 0),
      conv2d(3, 99),
      conv2d(3, {3, 3, 3}),
      conv2d(3, 3, {.stride = {0, 0}, .padding = Padding::same}),
      conv2d(3, 3, {.stride = {1}, .padding = Padding::same}),
      conv2d(3, 3, {.dilation = {-1, 1}}),
      conv2d(3, 3, {.padding = Padding::explicit_, .pads = {1, 1}}),
      conv2d(3, 3, {.groups = 0}),
      conv2d(3, 3, {.groups = 2}),
      max_pool(0),
      max_pool(2, {.stride = -1}),
      avg_pool(2, {.padding = 2}),
  };
  for (size_t i = 0; i < bad_windows.size(); ++i) {
    EXPECT_NE(error_of(bad_windows[i], {1, 8, 8}).find("(layer net"), std::string::npos) << i;
  }
  EXPECT_THROW(Sequential(std::vector<LayerPtr>{nullptr}), InvalidArgument);
  EXPECT_THROW(Lambda(nullptr), InvalidArgument);
}

}  // namespace
}  // namespace partita
