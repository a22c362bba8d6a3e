#include "compiler/autodiff/differentiate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/test_refusal.h"
#include "compiler/autodiff/training_graph.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"

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

TEST(TrainingGraph, AveragesFollowTheUpdatesOfTheirParameters) {
  const Graph forward = parse_graph(kForward, all_ops());
  const Graph graph = make_training_graph(forward, all_ops(), {.optimizer = {.ema = 0.75}}).graph;
  for (const char* name : {"w", "unused"}) {
    const State *own = graph.find_state(name), *average = graph.find_state(std::string(name) + ".ema");
    ASSERT_NE(average, nullptr) << name;
    EXPECT_EQ(average->kind, StateKind::optimizer);
    EXPECT_EQ(average->owner, name);
    EXPECT_EQ(average->init, own->init);
    const Node& node = graph.nodes[static_cast<size_t>(graph.values[static_cast<size_t>(average->exit)].producer)];
    EXPECT_EQ(node.op, "moving_average");
    EXPECT_EQ(node.phase, Phase::update);
    EXPECT_EQ(node.inputs, (std::vector<ValueId>{average->entry, own->exit}));
  }
  EXPECT_EQ(print(parse_graph(print(graph), all_ops())), print(graph));
  const std::string taken = replaced(std::string(kForward), "%unused", "%w.ema");
  EXPECT_EQ(
      refusal_of([&] { make_training_graph(parse_graph(taken, all_ops()), all_ops(), {.optimizer = {.ema = 0.75}}); }),
      "[optimizer] the name of an average is taken, got a state 'w.ema', expected another name of it");
}

/// Gradients with respect to a value that a node makes. If one of its own operands is asked for too, both get a
/// gradient. Here: the sum of (2 x)^2, with respect to 2 x alone and to both.
TEST(Gradients, ByValuesThatNodesMake) {
  for (const bool by_both : {false, true}) {
    Builder builder(all_ops(), "between");
    const Value x = builder.input("x", {DType::f64, {3}});
    const Value doubled = builder.apply("scale", {x}, ScaleAttrs{.scale = 2});
    const Value loss = builder.apply("reduce", {builder.apply("square", {doubled})}, ReduceAttrs{.axes = {0}});
    const std::vector<Value> by = by_both ? std::vector<Value>{doubled, x} : std::vector<Value>{doubled};
    const std::vector<Value> gradients = differentiate(builder, loss, by);
    ASSERT_TRUE(gradients[0]);
    EXPECT_EQ(gradients[0].type(), doubled.type());
    if (!by_both) continue;
    ASSERT_TRUE(gradients[1]);
    // The gradient of x is computed from that of 2 x.
    const Node& last =
        builder.graph()
            .nodes[static_cast<size_t>(builder.graph().values[static_cast<size_t>(gradients[1].id())].producer)];
    EXPECT_EQ(last.inputs, std::vector<ValueId>{gradients[0].id()});
  }
}

TEST(TrainingGraph, ParameterWithoutGradientGetsZerosAndAWarning) {
  const TrainingGraph training = make_training_graph(parse_graph(kForward, all_ops()), all_ops(), {});
  ASSERT_EQ(training.warnings.size(), 1u);
  EXPECT_NE(training.warnings[0].find("'unused'"), std::string::npos);
}

/// A product whose gradient is replaced by 3 d. `nested`: inside a function whose gradient is 5 d.
Value product_with_own_gradient(Builder& builder, Value x, Value y, bool nested) {
  const auto times = [](double factor) {
    return [=](Builder& into, const std::vector<Value>& d) -> std::vector<Value> {
      return {into.apply("scale", {d[0]}, ScaleAttrs{.scale = factor}), Value()};
    };
  };
  const auto begin = static_cast<NodeId>(builder.graph().nodes.size());
  const Value product = builder.apply("mul", {x, y});
  builder.own_gradient(begin, {x, y}, {product}, times(3));
  if (!nested) return product;
  const Value more = builder.apply("square", {product});
  builder.own_gradient(begin, {x, y}, {more}, times(5));
  return more;
}

TEST(OwnGradients, TakeThePlaceOfThoseOfTheNodes) {
  for (const bool nested : {false, true}) {
    Builder builder(all_ops());
    const Value x = builder.input("x", Type{DType::f64, {}}), y = builder.input("y", Type{DType::f64, {}});
    const Value z = product_with_own_gradient(builder, x, y, nested);
    const Value loss = builder.apply("add", {z, x});
    const std::vector<Value> gradients = differentiate(builder, loss, {x, y});
    EXPECT_TRUE(gradients[0]);
    EXPECT_FALSE(gradients[1]);
    std::vector<std::string> backward;
    for (const Node& node : builder.graph().nodes) {
      if (node.phase == Phase::backward) backward.push_back(node.op + node.attrs.print());
    }
    const auto has = [&](const std::string& text) {
      return std::ranges::count_if(backward,
                                   [&](const std::string& one) { return one.find(text) != std::string::npos; });
    };
    EXPECT_EQ(has("scale=3"), nested ? 0 : 1);
    EXPECT_EQ(has("scale=5"), nested ? 1 : 0);
    EXPECT_EQ(has("mul"), 0);
  }
}

TEST(OwnGradients, AreRefusedWhereOnesWouldBeLost) {
  const auto none = [](Builder&, const std::vector<Value>&) -> std::vector<Value> { return {}; };
  const auto message = [](const auto& fails) {
    try {
      fails();
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  Builder builder(all_ops());
  const Value x = builder.input("x", Type{DType::f64, {2}});
  const Value w = builder.state("w", Type{DType::f64, {2}}, {.kind = StateKind::parameter});
  EXPECT_EQ(message([&] { builder.own_gradient(0, {x}, {x}, none); }),
            "[gradient] the function does not compute this result, got 'x', expected one that it computes");
  const Value product = builder.apply("mul", {x, w});
  EXPECT_EQ(message([&] { builder.own_gradient(0, {x}, {product}, none); }),
            "[gradient] a function with a custom gradient uses a parameter, got 'w', expected it as an input");
  EXPECT_EQ(message([&] {
              builder.own_gradient(0, {x, w}, {product, product}, none);
            }),
            "[gradient] a result is given twice, got 'mul', expected it once");
  {  // a value from outside the function, and one from inside
    Builder fresh(all_ops());
    const Value from = fresh.input("x", Type{DType::f64, {}});
    const Value hidden = fresh.apply("square", {from}), inner = fresh.apply("mul", {from, hidden});
    const Value result = fresh.apply("square", {inner});
    fresh.own_gradient(1, {from}, {result}, none);
    EXPECT_EQ(message([&] { differentiate(fresh, result, {from}); }),
              "[gradient] a function with a custom gradient uses a value that is not an argument, got 'square', "
              "expected it as an argument");
  }
  {
    Builder fresh(all_ops());
    const Value from = fresh.input("x", Type{DType::f64, {}});
    const Value inner = fresh.apply("square", {from}), result = fresh.apply("square", {inner});
    fresh.own_gradient(0, {from}, {result}, none);
    const char* expected =
        "[gradient] a function with a custom gradient computes a value that is used elsewhere but is not a result, got "
        "'square', expected it as a result";
    EXPECT_EQ(message([&] { differentiate(fresh, inner, {from}); }), expected);
    EXPECT_EQ(message([&] { differentiate(fresh, fresh.apply("add", {inner, result}), {from}); }), expected);
  }
  const auto differentiated = [&](const auto& gradient) {
    Builder fresh(all_ops());
    const Value from = fresh.input("x", Type{DType::f64, {2}});
    const Value square = fresh.apply("square", {from});
    fresh.own_gradient(0, {from}, {square}, gradient);
    const Value sum = fresh.apply("reduce", {square}, ReduceAttrs{.kind = Reduce::sum, .axes = {0}});
    differentiate(fresh, sum, {from});
  };
  EXPECT_EQ(message([&] { differentiated(none); }),
            "[gradient] wrong number of gradients, got 0, expected 1, one for each input");
  EXPECT_EQ(message([&] {
              differentiated([](Builder& into, const std::vector<Value>& d) -> std::vector<Value> {
                return {into.apply("reduce", {d[0]}, ReduceAttrs{.kind = Reduce::sum, .axes = {0}})};
              });
            }),
            "[gradient] the gradient of input 0 has the wrong type, got f64[], expected f64[2]");
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
      "partita graph 1\nstate %w: f64[3] parameter zeros\n%a = round(%w)\n%c = reduce(%a) {axes=[0]}\noutput "
      "loss = %c\n",
      all_ops());
  try {
    make_training_graph(graph, all_ops(), {});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("an op that has no gradient"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace partita
