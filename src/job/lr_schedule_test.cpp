#include "job/lr_schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace partita {
namespace {

TEST(LrSchedule, Constant) {
  const LrSchedule schedule{.kind = LrKind::constant, .learning_rate = 0.5};
  EXPECT_EQ(learning_rate_at(schedule, 0), 0.5);
  EXPECT_EQ(learning_rate_at(schedule, 1000), 0.5);
}

TEST(LrSchedule, LinearReachesZero) {
  const LrSchedule schedule{.kind = LrKind::linear, .learning_rate = 1, .steps = 10};
  EXPECT_EQ(learning_rate_at(schedule, 0), 1);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 5), 0.5);
  EXPECT_EQ(learning_rate_at(schedule, 10), 0);
  EXPECT_EQ(learning_rate_at(schedule, 20), 0);
}

TEST(LrSchedule, CosineIsHalfInTheMiddle) {
  const LrSchedule schedule{.kind = LrKind::cosine, .learning_rate = 1, .steps = 10};
  EXPECT_EQ(learning_rate_at(schedule, 0), 1);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 5), 0.5);
  EXPECT_NEAR(learning_rate_at(schedule, 10), 0, 1e-15);
}

TEST(LrSchedule, StepFalls) {
  const LrSchedule schedule{.kind = LrKind::step, .learning_rate = 1, .steps = 30};
  EXPECT_EQ(learning_rate_at(schedule, 9), 1);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 10), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 20), 0.01);
}

TEST(LrSchedule, WarmUpRisesToTheRate) {
  const LrSchedule schedule{.kind = LrKind::linear, .learning_rate = 1, .steps = 14, .warmup_steps = 4};
  EXPECT_EQ(learning_rate_at(schedule, 0), 0.25);
  EXPECT_EQ(learning_rate_at(schedule, 3), 1);
  EXPECT_EQ(learning_rate_at(schedule, 4), 1);
  EXPECT_DOUBLE_EQ(learning_rate_at(schedule, 9), 0.5);
}

TEST(LrSchedule, RefusesNumbersThatMakeNoSense) {
  EXPECT_THROW(verify({.learning_rate = -1}), InvalidArgument);
  EXPECT_THROW(verify({.warmup_steps = -1}), InvalidArgument);
}

TEST(LrSchedule, ARateThatTheTypeCannotHold) {
  EXPECT_NO_THROW(verify({.learning_rate = 1e300}, DType::f64));
  EXPECT_THROW(verify({.learning_rate = 1e300}, DType::f32), InvalidArgument);
  EXPECT_THROW(verify({.learning_rate = 1e5}, DType::f16), InvalidArgument);
}

TEST(LrSchedule, DependsOnItsLengthWhereARateDoes) {
  for (const LrKind kind : {LrKind::constant, LrKind::linear, LrKind::cosine, LrKind::step, LrKind::polynomial,
                            LrKind::inverse_sqrt, LrKind::one_cycle}) {
    for (const int64_t every : {0, 4}) {
      for (const int64_t warmup : {0, 3}) {
        LrSchedule shorter{.kind = kind, .steps = 9, .warmup_steps = warmup, .step_every = every}, longer = shorter;
        longer.steps = 20;
        bool differs = false;
        for (int64_t step = 0; step < 20; ++step) {
          differs = differs || learning_rate_at(shorter, step) != learning_rate_at(longer, step);
        }
        EXPECT_EQ(depends_on_length(shorter), differs) << name_of(kind) << " every " << every;
      }
    }
  }
}

}  // namespace
}  // namespace partita
