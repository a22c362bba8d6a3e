#include "training/report/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "ir/ops/registry.h"

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

/// Returns the results of the op `label_place`.
std::pair<Array, Array> places_of(const Array& logits, const Array& labels) {
  Array places({DType::i64, labels.shape()}), finite({DType::boolean, labels.shape()});
  const ConstTensor in[] = {logits.tensor(), labels.tensor()};
  const Tensor out[] = {places.tensor(), finite.tensor()};
  all_ops().at("label_place").kernel({}, in, out);
  return {std::move(places), std::move(finite)};
}

// Evaluations count by the op where they can, and by logits where they cannot.
TEST(Metrics, PlacesCountAsLogitsDo) {
  std::mt19937 random(3);
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1};
  for (int k = 0; k < 200; ++k) {
    const DType dtype = std::array{DType::f64, DType::f32, DType::bf16, DType::f16}[static_cast<size_t>(k % 4)];
    const int64_t rows = draw(0, 6), columns = draw(1, 6), top = draw(1, 4);
    Array logits({dtype, {rows, columns}}), labels({k % 2 == 0 ? DType::i32 : DType::i64, {rows}});
    for (int64_t i = 0; i < rows * columns; ++i) {
      logits.set(i, draw(0, 9) == 0 ? special[draw(0, 5)] : draw(-2, 2));  // many are equal
    }
    for (int64_t i = 0; i < rows; ++i) labels.set(i, draw(0, 9) == 0 ? -100 : draw(-1, static_cast<int>(columns)));
    const auto [places, finite] = places_of(logits, labels);
    for (const std::optional<int64_t> ignored :
         {std::optional<int64_t>(), std::optional<int64_t>(-100), std::optional<int64_t>(0)}) {
      for (const int64_t k_top : {int64_t{1}, top, int64_t{99}}) {
        EXPECT_EQ(count_below(places.tensor(), labels.tensor(), k_top, ignored),
                  count_correct(logits.tensor(), labels.tensor(), k_top, ignored));
      }
    }
    const bool* is_finite = finite.tensor().as<bool>();
    EXPECT_EQ(std::count(is_finite, is_finite + rows, false), count_non_finite(logits.tensor()));
  }
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
