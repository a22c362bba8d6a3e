#include "job/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/test_refusal.h"

namespace partita {
namespace {

// Numbers of torch.optim.lr_scheduler.OneCycleLR(max_lr=0.5, total_steps=10).
TEST(LearningRate, OneCycleIsThatOfPyTorch) {
  const double expected[] = {0.020000000000000018,  0.26000000000000001,  0.5,
                             0.47524231600673683,   0.40587282697488153,  0.30563101096814466,
                             0.19437098903185537,   0.094129173025118487, 0.024759683993263143,
                             1.9999999999999999e-06};
  const LearningRate rate = one_cycle_rate(0.5, 10);
  for (int64_t step = 0; step < 10; ++step) EXPECT_NEAR(rate.at(step), expected[step], 1e-12) << step;
  EXPECT_NEAR(rate.at(50), expected[9], 1e-12);
}

// Numbers of torch.optim.lr_scheduler.PolynomialLR(total_iters=8, power=2) for a rate of 0.5.
TEST(LearningRate, PolynomialIsThatOfPyTorch) {
  const double expected[] = {0.5,
                             0.3828125,
                             0.28125,
                             0.19531250000000003,
                             0.12500000000000006,
                             0.070312500000000028,
                             0.031250000000000014,
                             0.0078125000000000035,
                             0,
                             0};
  const LearningRate rate = polynomial_rate(0.5, 0, 8, 2);
  const LrSchedule schedule{.kind = LrKind::polynomial, .learning_rate = 0.5, .steps = 8, .power = 2};
  for (int64_t step = 0; step < 10; ++step) {
    EXPECT_NEAR(rate.at(step), expected[step], 1e-12) << step;
    EXPECT_NEAR(learning_rate_at(schedule, step), expected[step], 1e-12) << step;
  }
  const LrSchedule above{.kind = LrKind::polynomial, .learning_rate = 0.5, .steps = 8, .final_rate = 0.1};
  EXPECT_NEAR(learning_rate_at(above, 4), 0.3, 1e-15);
  EXPECT_NEAR(learning_rate_at(above, 80), 0.1, 1e-15);
}

TEST(LearningRate, InverseRootFallsFromTheWarmUp) {
  const LrSchedule schedule{.kind = LrKind::inverse_sqrt, .learning_rate = 1, .warmup_steps = 4};
  EXPECT_EQ(learning_rate_at(schedule, 1), 0.5);
  EXPECT_EQ(learning_rate_at(schedule, 3), 1);
  EXPECT_EQ(learning_rate_at(schedule, 15), 0.5);  // the 16th step
  EXPECT_EQ(learning_rate_at(schedule, 63), 0.25);
  EXPECT_EQ(inverse_sqrt_rate(2, 5).at(0), 2);
  EXPECT_EQ(inverse_sqrt_rate(2, 5).at(15), 1);
}

TEST(LearningRate, PiecesCountTheirOwnSteps) {
  const LearningRate rate = piecewise(
      {{polynomial_rate(0, 1, 4), 4}, {0.5, 3}, {cosine_rate(0.4, 0.2, 2) * 0.5, 2}, {exponential_rate(0.1, 0.5), 0}});
  const double expected[] = {0, 0.25, 0.5, 0.75, 0.5, 0.5, 0.5, 0.2, 0.15, 0.1, 0.05, 0.025};
  for (int64_t step = 0; step < 12; ++step) EXPECT_NEAR(rate.at(step), expected[step], 1e-15) << step;
  EXPECT_EQ(
      rate.text(),
      "piecewise (polynomial 0 to 1 over 4, power 1) for 4 then (constant 0.5) for 3 then ((cosine 0.4 to 0.2 over "
      "2) times 0.5) for 2 then (exponential 0.1 by 0.5)");
}

TEST(LearningRate, WarmUpRisesToTheFirstRate) {
  const LearningRate rate = cosine_rate(1, 0, 8).after_warmup(4);
  EXPECT_EQ(rate.at(0), 0.25);
  EXPECT_EQ(rate.at(3), 1);
  EXPECT_EQ(rate.at(4), 1);
  EXPECT_NEAR(rate.at(8), 0.5, 1e-15);
  EXPECT_EQ(LearningRate(0.5).after_warmup(0).at(0), 0.5);
}

TEST(LearningRate, EveryScheduleIsFiniteAndAtLeastZero) {
  for (const std::string_view name : kNames<LrKind>) {
    for (const int64_t steps : {1, 2, 7, 100}) {
      for (const int64_t warm_up : {0, 1, 5, 200}) {
        const LearningRate rate = LrSchedule{.kind = parse_name<LrKind>("kind", name),
                                             .learning_rate = 0.5,
                                             .steps = steps,
                                             .warmup_steps = warm_up,
                                             .power = 0.5};
        for (const int64_t step : {int64_t{0}, steps / 2, steps - 1, steps, 3 * steps, int64_t{1} << 40}) {
          const double at = rate.at(step);  // throws for others
          EXPECT_LE(at, 0.5) << name << " of " << steps << " steps, warm-up " << warm_up << ", step " << step;
        }
      }
    }
  }
}

TEST(LearningRate, RefusesNumbersThatMakeNoSense) {
  EXPECT_EQ(refusal_of([] { LearningRate(-1.0); }),
            "[learning rate] not a learning rate, got -1, expected numbers >= 0");
  EXPECT_EQ(refusal_of([] { polynomial_rate(1, 0, 0); }),
            "[polynomial] bad number of steps, got 0, expected 1 or more");
  EXPECT_EQ(refusal_of([] { cosine_rate(1, std::numeric_limits<double>::infinity(), 4); }),
            "[cosine] not a learning rate, got inf, expected numbers >= 0");
  EXPECT_EQ(refusal_of([] { exponential_rate(-0.5, 1); }),
            "[exponential] not a learning rate, got -0.5, expected numbers >= 0");
  EXPECT_EQ(refusal_of([] { inverse_sqrt_rate(1, 0); }),
            "[inverse_sqrt] bad number of steps, got 0, expected 1 or more");
  EXPECT_EQ(refusal_of([] { one_cycle_rate(1, 0); }), "[one_cycle] bad number of steps, got 0, expected 1 or more");
  EXPECT_EQ(refusal_of([] { piecewise({}); }), "[piecewise] no rates, got 0 pieces, expected at least 1");
  EXPECT_EQ(refusal_of([] {
              piecewise({{0.1, 0}, {0.2, 1}});
            }),
            "[piecewise] bad number of steps, got 0, expected 1 or more");
  EXPECT_EQ(refusal_of([] { LearningRate(1.0).after_warmup(-1); }),
            "[warm-up] bad number of steps, got -1, expected 0 or more");
  EXPECT_EQ(refusal_of([] { LearningRate(LrSchedule{.kind = LrKind::cosine}); }),
            "[learning rate] bad number of steps, got 0, expected 1 or more");
  const LearningRate own([](int64_t step) { return 1.0 - static_cast<double>(step); }, "mine");
  EXPECT_EQ(own.at(1), 0);
  EXPECT_EQ(refusal_of([&] { own.at(2); }),
            "[learning rate] mine: not a learning rate, got -1 for step 2, expected a number >= 0");
}

}  // namespace
}  // namespace partita
