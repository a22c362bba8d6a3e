#include "training/stepper.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/autodiff/differentiate.h"
#include "compiler/autodiff/optimizer.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/network/functions.h"

namespace partita {
namespace {

const Place kAlone{.cores = 1};

/// Builds loss = mean((x w)^2), one step of gradient descent, and the output x w.
void build_step(Context& context) {
  Builder& builder = context.builder();
  const Value x = builder.input("x", Type{DType::f64, {2, 3}}, /*batch_dim=*/0);
  const Value rate = builder.input("rate", Type{DType::f64, {}});
  const Value w = builder.state("w", Type{DType::f64, {3, 1}}, {.init = {.kind = InitKind::ones}});
  const Value y = matmul(x, w), loss = reduce_mean(square(y));
  const std::vector<Value> gradients = differentiate(builder, loss, {w});
  builder.phase = Phase::update;
  build_update(builder, {.kind = OptimizerKind::sgd}, w, gradients[0], rate);
  builder.phase = Phase::forward;
  context.step();
  builder.output("loss", loss);
  builder.output("y", y);
}

States none() { return {}; }

TEST(Stepper, KeepsItsStatesBetweenCalls) {
  const JobConfig config{.training = {.dtype = DType::f64}, .ranks = {.threads = 1}};
  Stepper stepper(config, kAlone, build_step, [] {
    return States{{"w", Array({3, 1}, std::vector<double>{1, -1, 2})}};
  });
  const std::vector<double> x{1, 2, 3, -1, 0, 1};
  std::vector<double> w{1, -1, 2};
  for (int step = 0; step < 3; ++step) {
    const double y[] = {x[0] * w[0] + x[1] * w[1] + x[2] * w[2], x[3] * w[0] + x[4] * w[1] + x[5] * w[2]};
    const std::vector<Array> found =
        stepper.run({{"x", Array({2, 3}, x)}, {"rate", Array(Shape{}, std::vector<double>{0.1})}});
    EXPECT_NEAR(found[0].at(0), (y[0] * y[0] + y[1] * y[1]) / 2, 1e-12);
    EXPECT_NEAR(found[1].at(1), y[1], 1e-12);
    for (size_t i = 0; i < 3; ++i) w[i] -= 0.1 * (y[0] * x[i] + y[1] * x[3 + i]);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(stepper.state("w").at(static_cast<int64_t>(i)), w[i], 1e-12);
  }
  stepper.set_state("w", Array({3, 1}, std::vector<double>{0, 0, 0}));
  EXPECT_EQ(stepper.run({{"x", Array({2, 3}, x)}, {"rate", Array(Shape{}, std::vector<double>{0.1})}})[0].at(0), 0);
}

/// Builds the step of `build_step` up to x w, as the program of the beginning of a step.
void build_beginning(Context& context) {
  Builder& builder = context.builder();
  const Value x = builder.input("x", Type{DType::f64, {2, 3}}, /*batch_dim=*/0);
  builder.input("rate", Type{DType::f64, {}});
  const Value w = builder.state("w", Type{DType::f64, {3, 1}}, {.init = {.kind = InitKind::ones}});
  const Value y = matmul(x, w);
  builder.store(w, w + w);
  context.step();
  context.freeze_states();
  builder.output("y", y);
}

/// Builds the whole step, in which the input "given" stands for x w.
void build_rest(Context& context) {
  build_step(context);
  Builder& builder = context.builder();
  const Graph& graph = builder.graph();
  const auto product = std::ranges::find(graph.nodes, "matmul", &Node::op);
  context.give(builder.value(product->outputs[0]), builder.input("given", Type{DType::f64, {2, 1}}));
}

// The beginning of a step leaves states as they are; the rest has its values, so it does not compute them again, and
// the numbers of the whole step.
TEST(Stepper, RunsAStepInTwoParts) {
  const JobConfig config{.training = {.dtype = DType::f64}, .ranks = {.threads = 1}};
  const auto initial = [] { return States{{"w", Array({3, 1}, std::vector<double>{1, -1, 2})}}; };
  Stepper whole(config, kAlone, build_step, initial), beginning(config, kAlone, build_beginning, initial);
  Stepper rest(config, kAlone, build_rest, initial);
  const auto is_product = [](const Node& node) { return node.op == "matmul" && node.phase == Phase::forward; };
  EXPECT_EQ(std::ranges::count_if(whole.graph().nodes, is_product), 1);
  EXPECT_EQ(std::ranges::count_if(rest.graph().nodes, is_product), 0);
  for (int step = 0; step < 3; ++step) {
    const std::vector<double> x{1.0 + step, 2, 3, -1, 0.5 * step, 1};
    Stepper::NamedArrays inputs{{"x", Array({2, 3}, x)}, {"rate", Array(Shape{}, std::vector<double>{0.1})}};
    const std::vector<Array> expected = whole.run(inputs);
    beginning.set_state("w", rest.state("w"));
    const Array y = beginning.run(inputs)[0];
    EXPECT_EQ(y.at(0), expected[1].at(0));
    EXPECT_EQ(beginning.state("w").at(0), rest.state("w").at(0));
    EXPECT_EQ(beginning.state("step").at(0), 0);
    inputs.emplace_back("given", y);
    EXPECT_EQ(rest.run(inputs)[0].at(0), expected[0].at(0));
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(rest.state("w").at(i), whole.state("w").at(i));
  }
}

/// Returns the values with 8 significant bits.
std::vector<double> rounded(std::vector<double> values) {
  for (double& value : values) value = static_cast<float>(bf16(static_cast<float>(value)));
  return values;
}

// A gradient that a loop reads keeps its digits, as one that an update uses.
TEST(Stepper, RoundsInTheScopesThatTheBuildSets) {
  const JobConfig config{.ranks = {.threads = 1}};
  const auto build = [](Context& context) {
    Builder& builder = context.builder();
    const Value x = builder.input("x", Type{DType::f32, {1, 2}}, /*batch_dim=*/0);
    const Value w = builder.state("w", Type{DType::f32, {2, 1}}, {.init = {.kind = InitKind::ones}});
    builder.scope = "net/product";
    const Value y = matmul(x, w);
    builder.scope = "net";
    const Value full = matmul(x, w), loss = reduce_sum(square(y));
    const std::vector<Value> gradients = differentiate(builder, loss, {w});
    builder.phase = Phase::forward;
    builder.output("y", scale(y, 1, 0));
    builder.output("full", full);
    builder.output("gradient", gradients[0]);
    context.set_precision("net/product", "bf16");
    context.set_precision("net/nothing", "f32");
  };
  Stepper stepper(config, kAlone, build, [] {
    return States{{"w", Array({2, 1}, std::vector<float>{1.001F, 0.337F})}};
  });
  const std::vector<Array> found = stepper.run({{"x", Array({1, 2}, std::vector<float>{0.333F, 2.71F})}});
  const std::vector<double> x = rounded({0.333, 2.71}), w = rounded({1.001, 0.337});
  const double y = rounded({x[0] * w[0] + x[1] * w[1]})[0];
  EXPECT_NEAR(found[0].at(0), y, 1e-6);
  EXPECT_NEAR(found[1].at(0), 0.333 * 1.001 + 2.71 * 0.337, 1e-6);
  const double d = rounded({2 * y})[0];
  EXPECT_NEAR(found[2].at(0), x[0] * d, 1e-6);
  EXPECT_NEAR(found[2].at(1), x[1] * d, 1e-6);
  EXPECT_NE(found[2].at(0), rounded({x[0] * d})[0]);
}

TEST(Stepper, RefusesUnknownPrecisions) {
  const auto build = [](Context& context) {
    build_step(context);
    context.set_precision("net", "bf17");
  };
  expect_error<InvalidArgument>(
      [&] { Stepper({.training = {.dtype = DType::f64}, .ranks = {.threads = 1}}, kAlone, build, none); },
      "[network] unknown name, got 'bf17', expected one of f32 bf16 f16");
}

TEST(Stepper, RefusesWhatDoesNotFit) {
  const JobConfig config{.training = {.dtype = DType::f64}, .ranks = {.threads = 1}};
  expect_error<InvalidArgument>(
      [&] {
        Stepper(config, kAlone, build_step, [] { return States{{"w", Array({3}, std::vector<double>{1, 1, 1})}}; });
      },
      "the value of 'w' does not fit, got f64[3], expected f64[3,1]");
  expect_error<InvalidArgument>(
      [&] {
        Stepper(
            config, kAlone, [](Context&) {}, none);
      },
      "nothing to compute");
  Stepper stepper(config, kAlone, build_step, none);
  const Array x({2, 3}, std::vector<double>(6, 1));
  expect_error<InvalidArgument>([&] { stepper.run({{"x", x}}); }, "no value for an input, got 1 values");
  expect_error<InvalidArgument>(
      [&] {
        stepper.run(
            {{"x", Array({5, 3}, std::vector<double>(15, 1))}, {"rate", Array(Shape{}, std::vector<double>{0.1})}});
      },
      "a batch of 'x' does not fit");
  expect_error<InvalidArgument>([&] { stepper.set_state("v", x); }, "unknown state, got 'v'");
}

}  // namespace
}  // namespace partita
