#include "training/stepper.h"

#include <gtest/gtest.h>

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
