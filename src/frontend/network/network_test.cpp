#include "frontend/network/network.h"

#include <gtest/gtest.h>

#include "frontend/network/build_graph.h"
#include "frontend/network/functions.h"
#include "frontend/network/layers/layers.h"
#include "ir/ops/registry.h"
#include "runtime/execute/interpreter.h"

namespace partita {
namespace {

/// A layer from two inputs to two results, each through one child.
class Pair : public Layer {
 public:
  std::vector<Value> construct_all(Context& context, const std::vector<Value>& inputs) override {
    return {context.call("left", *left_, inputs.at(0)), context.call("right", *right_, inputs.at(1))};
  }

 private:
  LayerPtr left_ = dense(3), right_ = dense(3);
};

class Twice : public Layer {
 public:
  std::vector<Value> construct_all(Context&, const std::vector<Value>& inputs) override {
    return {inputs.at(0), inputs.at(0)};
  }
};

Network pairs() {
  const LayerPtr layer = std::make_shared<Pair>();
  return Network(
      "pairs",
      [layer](Context& context, Columns& columns) -> NamedValues {
        const auto both = context.call("pair", *layer, {columns.at("a"), columns.at("b")});
        return {{"score", reduce_sum(both[0] * both[1], {-1})}, {"left", both[0]}};
      },
      [](Context&, Columns& columns, const NamedValues& outputs) -> NamedValues {
        const Value error = square(find_output(outputs, "score") - columns.at("target"));
        const Value size = reduce_mean(square(find_output(outputs, "left")));
        return {{"loss", reduce_mean(error * columns.at("mask")) + size * 0.1}, {"size", size}};
      });
}

const std::vector<Column> kColumns{{"a", {DType::f32, {4}}},
                                   {"unused", {DType::f32, {100}}},
                                   {"b", {DType::f64, {4}}},
                                   {"target", {DType::f64, {}}},
                                   {"mask", {DType::f64, {}}}};

TEST(Network, SeveralInputsAndOutputsAndALossOfItsOwn) {
  const Graph graph = build_graph(pairs(), all_ops(), {.batch = 8, .columns = kColumns, .dtype = DType::f64});
  verify(graph, all_ops());
  std::vector<std::string> inputs, outputs;
  for (const Input& input : graph.inputs) inputs.push_back(graph.values[input.value].name);
  for (const Output& output : graph.outputs) outputs.push_back(output.name);
  EXPECT_EQ(inputs, (std::vector<std::string>{"a", "b", "target", "mask"})) << "what is not read is no input";
  EXPECT_EQ(outputs, (std::vector<std::string>{"loss", "size", "score", "left"}));
  // A column keeps its type; the network computes in its own.
  EXPECT_EQ(graph.type(graph.input("a")), (Type{DType::f32, {8, 4}}));
  EXPECT_EQ(graph.type(graph.output("score")), (Type{DType::f64, {8}}));
  EXPECT_NE(graph.find_state("pair.left.weight"), nullptr);
}

TEST(Network, PredictionNeedsNoLabels) {
  const Graph graph = build_graph(pairs(), all_ops(),
                                  {.batch = 2, .columns = {kColumns[0], kColumns[2]}, .purpose = Purpose::prediction});
  EXPECT_EQ(graph.outputs.size(), 2);
  EXPECT_EQ(graph.inputs.size(), 2);
}

std::string network_error_of(const Network& network, const std::vector<Column>& columns) {
  try {
    build_graph(network, all_ops(), {.batch = 2, .columns = columns});
    return "";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

TEST(Network, MissingPartsAreNamed) {
  EXPECT_NE(network_error_of(pairs(), {kColumns[0]}).find("unknown column, got 'b', expected one of [a]"),
            std::string::npos);
  EXPECT_EQ(network_error_of(Network("mlp", dense(2)), {{"label", {DType::i32, {}}}}),
            "[data] no column to read, got label alone, expected an input");
  EXPECT_NE(network_error_of(Network("mlp", dense(2)), {kColumns[0]}).find("unknown column, got 'label'"),
            std::string::npos);
  const auto forward = [](Context&, Columns& columns) -> NamedValues { return {{"y", columns.at("a")}}; };
  EXPECT_NE(network_error_of(Network("none", forward, nullptr), kColumns).find("network 'none' has no loss"),
            std::string::npos);
  const auto wide = [](Context&, Columns& columns, const NamedValues&) -> NamedValues {
    return {{"loss", columns.at("a")}};
  };
  EXPECT_NE(network_error_of(Network("wide", forward, wide), kColumns)
                .find("'loss' is not a mean over the batch, got f32[2,4]"),
            std::string::npos);
  const auto unnamed = [](Context&, Columns& columns, const NamedValues&) -> NamedValues {
    return {{"lost", reduce_mean(columns.at("a"))}};
  };
  EXPECT_NE(network_error_of(Network("lost", forward, unnamed), kColumns).find("did you mean 'lost'?"),
            std::string::npos);
}

TEST(Network, LayersOfOneValueRefuseLists) {
  const LayerPtr one = dense(2);
  const LayerPtr two = std::make_shared<Twice>();
  const auto of = [&](const std::function<Value(Context&, Columns&)>& build) {
    return Network(
        "bad",
        [build](Context& context, Columns& columns) -> NamedValues {
          return {{"y", build(context, columns)}};
        },
        nullptr);
  };
  EXPECT_NE(network_error_of(of([&](Context& c, Columns& x) {
                               return c.call("one", *one, {x.at("a"), x.at("a")}).at(0);
                             }),
                             kColumns)
                .find("the layer takes one value, got 2"),
            std::string::npos);
  EXPECT_NE(network_error_of(of([&](Context& c, Columns& x) { return c.call("two", *two, x.at("a")); }), kColumns)
                .find("'two' returns several values, got 2, expected 1"),
            std::string::npos);
}

}  // namespace
}  // namespace partita
