#include "frontend/network/layers/layers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "frontend/network/functions.h"
#include "ir/ops/registry.h"
#include "runtime/execute/interpreter.h"

namespace partita {
namespace {

/// Returns the shape of a layer's result on an image.
Shape shape_after(Layer& layer, const Shape& x) {
  Builder builder(all_ops());
  Context context(builder, {});
  return context.call_network(layer, builder.input("x", {DType::f32, x})).shape();
}

/// Runs a layer in f64 on 0.1, 0.2, ... with the layer's initial states.
Interpretation run(Layer& layer, const Shape& x, bool training, double offset = 0) {
  Builder builder(all_ops());
  Context context(builder, {.dtype = DType::f64, .training = training});
  builder.output("y", context.call_network(layer, builder.input("x", {DType::f64, x})));
  context.store_statistics();
  const Graph& graph = builder.graph();
  std::map<std::string, Array> given;
  Array input(Type{DType::f64, x});
  for (int64_t i = 0; i < elements(x); ++i) input.set(i, offset + 0.1 * double(i + 1));
  given.emplace("x", std::move(input));
  for (const State& state : graph.states) {
    const std::string& name = graph.values[state.entry].name;
    given.emplace(name, make_initial(state.init, graph.type(state.entry), random_key(1, name)));
  }
  return interpret_all(graph, all_ops(), given);
}

TEST(Conv2d, PaddingDecidesTheSize) {
  Conv2d valid(4, 5), same(4, 5, {.padding = Padding::same}), even(4, 2, {.stride = {2, 2}, .padding = Padding::same});
  Conv2d given(4, {3, 5}, {.padding = Padding::explicit_, .pads = {1, 0, 1, 0}});
  EXPECT_EQ(shape_after(valid, {2, 3, 9, 9}), (Shape{2, 4, 5, 5}));
  EXPECT_EQ(shape_after(same, {2, 3, 9, 9}), (Shape{2, 4, 9, 9}));
  EXPECT_EQ(shape_after(even, {2, 3, 9, 7}), (Shape{2, 4, 5, 4}));
  EXPECT_EQ(shape_after(given, {2, 3, 9, 9}), (Shape{2, 4, 9, 5}));
}

TEST(Conv2d, GroupsAndDilation) {
  Conv2d grouped(6, 3, {.groups = 3, .bias = false}), dilated(4, 3, {.dilation = {2, 2}, .padding = Padding::same});
  EXPECT_EQ(shape_after(grouped, {2, 3, 9, 9}), (Shape{2, 6, 7, 7}));
  EXPECT_EQ(shape_after(dilated, {2, 3, 9, 9}), (Shape{2, 4, 9, 9}));
}

TEST(Pool, WindowsAndPadding) {
  MaxPool2d halves(2), stem(3, {.stride = 2, .padding = 1}), same(3, {.stride = 2, .same = true});
  EXPECT_EQ(shape_after(halves, {1, 2, 9, 8}), (Shape{1, 2, 4, 4}));
  EXPECT_EQ(shape_after(stem, {1, 2, 112, 112}), (Shape{1, 2, 56, 56}));
  EXPECT_EQ(shape_after(same, {1, 2, 112, 112}), (Shape{1, 2, 56, 56}));
  GlobalAvgPool mean;
  EXPECT_NEAR(run(mean, {1, 2, 2, 2}, true).outputs.at("y").at(1), 0.65, 1e-12);
}

TEST(Pool, AveragesMayLeavePaddingOut) {
  AvgPool2d with(2, {.stride = 2, .padding = 1}), without(2, {.stride = 2, .padding = 1, .count_include_pad = false});
  EXPECT_NEAR(run(with, {1, 1, 2, 2}, true).outputs.at("y").at(0), 0.025, 1e-12);
  EXPECT_NEAR(run(without, {1, 1, 2, 2}, true).outputs.at("y").at(0), 0.1, 1e-12);
}

TEST(BatchNorm, TrainsOnTheBatchAndEvaluatesOnRunningStatistics) {
  BatchNorm2d norm;
  const Interpretation trained = run(norm, {4, 1}, /*training=*/true);  // 0.1 .. 0.4
  EXPECT_NEAR(trained.outputs.at("y").at(0), -0.15 / std::sqrt(0.0125 + 1e-5), 1e-9);
  EXPECT_NEAR(trained.states.at("running_mean").at(0), 0.1 * 0.25, 1e-9);
  EXPECT_NEAR(trained.states.at("running_var").at(0), 0.9 + 0.1 * 0.05 / 3, 1e-9);
  const Interpretation evaluated = run(norm, {4, 1}, /*training=*/false);
  EXPECT_NEAR(evaluated.outputs.at("y").at(0), 0.1 / std::sqrt(1 + 1e-5), 1e-9);
  EXPECT_EQ(evaluated.states.at("running_mean").at(0), 0);
}

TEST(Dropout, ActsWhileTrainingAlone) {
  Dropout dropout(0.5);
  EXPECT_EQ(run(dropout, {4, 4}, /*training=*/false).outputs.at("y").at(3), 0.4);
  const Array y = run(dropout, {40, 40}, /*training=*/true).outputs.at("y");
  int zeros = 0;
  for (int64_t i = 0; i < 1600; ++i) {
    if (y.at(i) == 0)
      ++zeros;
    else
      EXPECT_NEAR(y.at(i), 0.2 * double(i + 1), 1e-9);
  }
  EXPECT_NEAR(zeros, 800, 100);
}

TEST(Dropout, EachCallOfOneLayerDrawsAnew) {
  Dropout dropout(0.5);
  Lambda twice([&](Context& context, Value x) {
    return context.call("first", dropout, x) - context.call("second", dropout, x);
  });
  const Array difference = run(twice, {40, 40}, /*training=*/true).outputs.at("y");
  int different = 0;
  for (int64_t i = 0; i < 1600; ++i) different += difference.at(i) != 0;
  EXPECT_NEAR(different, 800, 100);
}

TEST(Embedding, TakesRows) {
  Embedding table(10, 4);
  Builder builder(all_ops());
  Context context(builder, {});
  const Value y = context.call_network(table, builder.input("ids", {DType::i32, {2, 3}}));
  EXPECT_EQ(y.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(builder.graph().states[0].init, normal_initializer(0, 1));
}

TEST(Dense, WithoutBiasAndWithAGivenInitializer) {
  Dense dense(3, {.bias = false, .init = constant_initializer(2)});
  EXPECT_NEAR(run(dense, {1, 4}, true).outputs.at("y").at(2), 2.0, 1e-12);
}

std::vector<Shape> parameter_shapes(Layer& layer, const Shape& input) {
  Builder builder(all_ops());
  Context context(builder, {});
  context.call_network(layer, builder.input("x", {DType::f32, input}));
  std::vector<Shape> shapes;
  for (const State& state : builder.graph().states) shapes.push_back(builder.graph().type(state.entry).shape);
  return shapes;
}

TEST(Attention, HasFewerHeadsOfKeysAndValues) {
  MultiHeadAttention attention(6, {.kv_heads = 2, .bias = false, .rotary_base = 100});
  EXPECT_EQ(shape_after(attention, {2, 5, 24}), (Shape{2, 5, 24}));
  EXPECT_EQ(parameter_shapes(attention, {2, 5, 24}), (std::vector<Shape>{{24, 24}, {8, 24}, {8, 24}, {24, 24}}));
}

TEST(Attention, RefusesHeadsThatDoNotDivide) {
  const auto refusal = [](int64_t heads, int64_t kv_heads) -> std::string {
    MultiHeadAttention attention(heads, {.kv_heads = kv_heads});
    try {
      shape_after(attention, {2, 5, 24});
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal(5, 0).find("[attention] heads do not divide the width, got 5 heads"), std::string::npos);
  EXPECT_NE(refusal(6, 4).find("[attention] heads of keys and values do not divide those of queries, got 4 of 6, "
                               "expected a divisor of 6"),
            std::string::npos)
      << refusal(6, 4);
}

TEST(Swiglu, HasThreeMatrices) {
  Swiglu swiglu({.inner = 7});
  EXPECT_EQ(shape_after(swiglu, {2, 5, 4}), (Shape{2, 5, 4}));
  EXPECT_EQ(parameter_shapes(swiglu, {2, 5, 4}), (std::vector<Shape>{{7, 4}, {7, 4}, {4, 7}}));
}

TEST(Flatten, KeepsTheBatch) {
  Flatten flatten;
  EXPECT_EQ(shape_after(flatten, {2, 3, 4, 5}), (Shape{2, 60}));
}

}  // namespace
}  // namespace partita
