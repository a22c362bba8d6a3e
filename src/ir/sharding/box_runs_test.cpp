#include "ir/sharding/box_runs.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace partita {
namespace {

/// Returns the position of an index in the array of a box.
int64_t place_in(const Box& box, const std::vector<int64_t>& index) {
  int64_t place = 0;
  for (size_t d = 0; d < box.size(); ++d) place = place * box[d].count() + index[d] - box[d].begin;
  return place;
}

TEST(BoxRuns, CoverWhatBoxesHaveInCommonOnceAndInOrder) {
  std::mt19937 random(7);
  const auto below = [&](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
  for (int draw = 0; draw < 500; ++draw) {
    Shape shape;
    for (int64_t dims = below(5); dims > 0; --dims) shape.push_back(1 + below(5));
    const auto draw_box = [&] {
      Box box = whole_box(shape);
      for (Range& range : box) {
        if (below(2) == 0) continue;
        range.begin = below(range.size);
        range.end = range.begin + 1 + below(range.size - range.begin);
      }
      return box;
    };
    const Box a = draw_box(), b = draw_box();
    const std::optional<Box> part = common_box(a, b);
    if (!part) continue;
    std::vector<std::pair<int64_t, int64_t>> expected, got;
    std::vector<int64_t> index;
    for (const Range& range : *part) index.push_back(range.begin);
    for (int64_t i = 0; i < elements_of(*part); ++i) {
      expected.emplace_back(place_in(a, index), place_in(b, index));
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < (*part)[d].end) break;
        index[d] = (*part)[d].begin;
      }
    }
    for_common_runs(*part, a, b, [&](int64_t first, int64_t other, int64_t count) {
      for (int64_t i = 0; i < count; ++i) got.emplace_back(first + i, other + i);
    });
    EXPECT_EQ(got, expected) << print(shape);
  }
}

TEST(BoxRuns, WholeArraysAreOneRun) {
  const Box box = whole_box({3, 4, 5});
  int runs = 0;
  for_common_runs(box, box, box, [&](int64_t first, int64_t other, int64_t count) {
    EXPECT_EQ(first + other, 0);
    EXPECT_EQ(count, 60);
    ++runs;
  });
  EXPECT_EQ(runs, 1);
}

TEST(BoxRuns, BoxesHaveTheDimensionsThatTensorsMayHave) {
  const auto count_runs = [](size_t dims) {
    const Box whole = whole_box(Shape(dims, 2));
    Box part = whole;
    part.front() = part.back() = {1, 2, 2};
    int64_t runs = 0;
    for_common_runs(part, whole, part, [&](int64_t, int64_t, int64_t) { ++runs; });
    return runs;
  };
  EXPECT_EQ(count_runs(kMaxDims), int64_t{1} << (kMaxDims - 2));
  EXPECT_THROW(count_runs(kMaxDims + 1), InternalError);
}

TEST(BoxRuns, EmptyBoxesHaveNone) {
  const Box box = whole_box({3, 0});
  for_common_runs(box, box, box, [](int64_t, int64_t, int64_t) { FAIL(); });
  EXPECT_EQ(common_box({{0, 1, 4}}, {{1, 2, 4}}), std::nullopt);
}

}  // namespace
}  // namespace partita
