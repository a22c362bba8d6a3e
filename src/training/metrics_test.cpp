#include "training/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace partita {
namespace {

const Array kLogits({3, 2}, std::vector<float>{0, 1, 5, 2, -3, -1});

TEST(Metrics, CountsIds) {
  EXPECT_EQ(count_correct(kLogits.tensor(), Array({3}, std::vector<int32_t>{1, 0, 0}).tensor()), 2);
  EXPECT_EQ(count_correct(kLogits.tensor(), Array({3}, std::vector<int64_t>{1, 0, 1}).tensor()), 3);
}

TEST(Metrics, IgnoredIdsAreNeitherRightNorCounted) {
  const Array labels({3}, std::vector<int32_t>{1, 0, -100});
  EXPECT_EQ(count_correct(kLogits.tensor(), labels.tensor(), 1, -100), 2);
  EXPECT_EQ(count_ignored(labels.tensor(), -100), 1);
  EXPECT_EQ(count_correct(kLogits.tensor(), labels.tensor(), 2, 0), 1);  // 0 is a class of the logits, too
  EXPECT_EQ(count_ignored(labels.tensor(), 7), 0);
}

TEST(Metrics, CountsOneHotRows) {
  const Array labels({3, 2}, std::vector<float>{0, 1, 1, 0, 1, 0});
  EXPECT_EQ(count_correct(kLogits.tensor(), labels.tensor()), 2);
}

TEST(Metrics, NanIsNeverRight) {
  const Array logits({2, 2}, std::vector<double>{NAN, 0, 1, 0});
  EXPECT_EQ(count_correct(logits.tensor(), Array({2}, std::vector<int32_t>{0, 0}).tensor()), 1);
}

TEST(Metrics, TopCountsTheLargestAndTheFirstOfEqualOnes) {
  const Array logits({2, 4}, std::vector<float>{4, 3, 2, 1, 7, 7, 7, 0});
  const auto count = [&](int32_t first, int32_t second, int64_t top) {
    return count_correct(logits.tensor(), Array({2}, std::vector<int32_t>{first, second}).tensor(), top);
  };
  EXPECT_EQ(count(2, 2, 2), 0);
  EXPECT_EQ(count(2, 2, 3), 2);
  EXPECT_EQ(count(1, 1, 2), 2);
  EXPECT_EQ(count(3, 3, 9), 2);
  EXPECT_EQ(count(4, -1, 9), 0);
  const Metrics metrics{.samples = 8, .correct = 2, .correct_in_top = 6};
  EXPECT_EQ(metrics.accuracy(), 0.25);
  EXPECT_EQ(metrics.top_accuracy(), 0.75);
  EXPECT_EQ(Metrics().accuracy(), 0);
}

TEST(Metrics, NonFiniteRows) {
  EXPECT_EQ(count_non_finite(kLogits.tensor()), 0);
  EXPECT_EQ(count_non_finite(Array({4, 2}, std::vector<float>{0, NAN, INFINITY, 1, 2, 3, -INFINITY, NAN}).tensor()), 3);
  EXPECT_EQ(count_non_finite(Array({2, 1}, std::vector<int32_t>{1, 2}).tensor()), 0);
  EXPECT_NO_THROW(check_finite({.samples = 2, .loss = 1}));
  EXPECT_THROW(check_finite({.samples = 2, .loss = NAN}), RuntimeFailure);
  EXPECT_THROW(check_finite({.samples = 2, .non_finite = 1, .loss = 1}), RuntimeFailure);
}

TEST(Metrics, EmptyBatch) {
  EXPECT_EQ(count_correct(Array(Type{DType::f32, {0, 2}}).tensor(), Array(Type{DType::i32, {0}}).tensor()), 0);
}

TEST(Metrics, RefusesOtherShapes) {
  EXPECT_THROW(count_correct(kLogits.tensor(), Array({2}, std::vector<int32_t>{1, 0}).tensor()), InvalidArgument);
  EXPECT_THROW(count_correct(kLogits.tensor(), Array({3}, std::vector<float>{1, 0, 0}).tensor()), InvalidArgument);
}

}  // namespace
}  // namespace partita
