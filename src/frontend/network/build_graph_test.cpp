#include "frontend/network/build_graph.h"

#include <gtest/gtest.h>

#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "frontend/network/test_columns.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

Network small() {
  return {"small", sequential(std::vector<LayerPtr>{conv2d(4, 3), batch_norm(), relu_layer(), flatten(), dropout(0.5),
                                                    dense(3)})};
}

std::vector<Column> images(Shape shape, DType dtype = DType::f32) {
  return labelled_columns({"image", {dtype, std::move(shape)}});
}

Graph build(const BuildOptions& options) { return build_graph(small(), all_ops(), options); }

TEST(BuildGraph, InputsAndOutputs) {
  const Graph graph = build({.batch = 8, .columns = images({2, 6, 6}, DType::f64), .dtype = DType::f64});
  verify(graph, all_ops());
  EXPECT_EQ(graph.type(graph.input("image")), (Type{DType::f64, {8, 2, 6, 6}}));
  EXPECT_EQ(graph.type(graph.input("label")), (Type{DType::i32, {8}}));
  for (const Input& input : graph.inputs) EXPECT_EQ(input.batch_dim, 0);
  EXPECT_EQ(graph.type(graph.output("loss")), (Type{DType::f64, {}}));
  EXPECT_EQ(graph.type(graph.output("logits")), (Type{DType::f64, {8, 3}}));
  EXPECT_EQ(print(parse_graph(print(graph), all_ops())), print(graph));
}

TEST(BuildGraph, TrainingHasDropoutAndStatistics) {
  const Graph graph = build({.batch = 8, .columns = images({2, 6, 6})});
  EXPECT_EQ(graph.find_state("step")->kind, StateKind::counter);
  EXPECT_GE(graph.find_state("1.running_mean")->exit, 0);
  EXPECT_NE(print(graph).find("dropout("), std::string::npos);
}

TEST(BuildGraph, EvaluationHasNeither) {
  const Graph graph = build({.batch = 8, .columns = images({2, 6, 6}), .purpose = Purpose::evaluation});
  EXPECT_EQ(graph.find_state("step"), nullptr);
  EXPECT_EQ(graph.find_state("1.running_mean")->exit, -1);
  EXPECT_NE(print(graph).find("batch_norm_inference("), std::string::npos);
  EXPECT_EQ(print(graph).find("dropout("), std::string::npos);
}

TEST(BuildGraph, ParametersAreTheSameInBothModes) {
  const Graph training = build({.batch = 8, .columns = images({2, 6, 6})});
  const Graph evaluation = build({.batch = 2, .columns = images({2, 6, 6}), .purpose = Purpose::evaluation});
  for (const State& state : evaluation.states) {
    const std::string& name = evaluation.values[state.entry].name;
    ASSERT_NE(training.find_state(name), nullptr) << name;
    EXPECT_EQ(training.type(training.find_state(name)->entry), evaluation.type(state.entry)) << name;
  }
}

TEST(BuildGraph, LayersWithinALossMoveTheirStatistics) {
  const LayerPtr norm = batch_norm();
  const Network network(
      "norm",
      [](Context&, Columns& columns) {
        return NamedValues{{"pixels", columns.at("image")}};
      },
      [norm](Context& context, Columns&, const NamedValues& outputs) {
        const Value normed = context.call("norm", *norm, find_output(outputs, "pixels"));
        return NamedValues{{"loss", reduce_mean(square(normed))}};
      });
  const Graph graph = build_graph(network, all_ops(), {.batch = 8, .columns = images({2, 6, 6})});
  EXPECT_GE(graph.find_state("norm.running_mean")->exit, 0);
}

TEST(BuildGraph, GroupsOfTheNorm) {
  const Graph graph = build({.batch = 8, .columns = images({2, 6, 6}), .statistics_groups = 4});
  EXPECT_NE(print(graph).find("groups=4"), std::string::npos);
  EXPECT_THROW(build({.batch = 8, .columns = images({2, 6, 6}), .statistics_groups = 3}), InvalidArgument);
}

TEST(BuildGraph, IdsAndTargetsAsInputs) {
  const Network network("ids", sequential(std::vector<LayerPtr>{embedding(10, 4), flatten(), dense(2)}), Loss::mse);
  const Graph graph = build_graph(
      network, all_ops(), {.batch = 8, .columns = labelled_columns({"image", {DType::i32, {5}}}, {DType::f32, {2}})});
  verify(graph, all_ops());
  EXPECT_EQ(graph.type(graph.input("image")), (Type{DType::i32, {8, 5}}));
  EXPECT_EQ(graph.type(graph.input("label")), (Type{DType::f32, {8, 2}}));
}

TEST(BuildGraph, BadOptionsAreRefused) {
  EXPECT_THROW(build({.batch = 0, .columns = images({2, 6, 6})}), InvalidArgument);
  EXPECT_THROW(build({.batch = 8, .columns = images({2, 0, 6})}), InvalidArgument);
  EXPECT_THROW(build({.batch = int64_t{1} << 61, .columns = images({2, 6, 6})}), InvalidArgument);
  EXPECT_THROW(build({.batch = 8, .columns = images({2, 6, 6}), .dtype = DType::i32}), InvalidArgument);
  EXPECT_THROW(build({.batch = 8, .columns = images({72})}), InvalidArgument);
  EXPECT_THROW(Network("none", LayerPtr()), InvalidArgument);
  const Network unlabelled("unlabelled", relu_layer());
  EXPECT_THROW(build_graph(unlabelled, all_ops(), {.columns = {{"image", {DType::f32, {2, 6, 6}}}}}), InvalidArgument);
}

}  // namespace
}  // namespace partita
