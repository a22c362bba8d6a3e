#include "base/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace partita {
namespace {

TEST(Permutation, EveryNumberIsThereOnce) {
  for (const int64_t size : {0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000, 4097}) {
    for (uint64_t time = 0; time < 5; ++time) {
      const Permutation order(size, 7, time);
      std::set<int64_t> seen;
      for (int64_t i = 0; i < size; ++i) seen.insert(order(i));
      EXPECT_EQ(static_cast<int64_t>(seen.size()), size);
      EXPECT_TRUE(size == 0 || (*seen.begin() == 0 && *seen.rbegin() == size - 1)) << size;
    }
  }
}

TEST(Permutation, LargeSizesNeedNoMemory) {
  const int64_t size = int64_t{1} << 61;
  const Permutation order(size - 5, 7, 0);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_LT(order(size / 1000 * i), size - 5);
}

// Chi-squared over the places of each number and over pairs of neighbours, at five standard deviations.
TEST(Permutation, PlacesAndNeighboursAreUniform) {
  constexpr int64_t kTimes = 4000;
  for (const int64_t size : {2, 3, 5, 8, 11, 37}) {
    const auto cells = static_cast<size_t>(size * size);
    std::vector<double> places(cells), pairs(cells);
    for (uint64_t time = 0; time < kTimes; ++time) {
      const Permutation order(size, 3, time);
      for (int64_t i = 0; i < size; ++i) {
        ++places[static_cast<size_t>(i * size + order(i))];
        if (i > 0) ++pairs[static_cast<size_t>(order(i - 1) * size + order(i))];
      }
    }
    double of_places = 0, of_pairs = 0;
    const double expected = double(kTimes) / double(size), expected_pairs = expected;
    for (size_t i = 0; i < cells; ++i) {
      of_places += std::pow(places[i] - expected, 2) / expected;
      if (i / size_t(size) != i % size_t(size)) of_pairs += std::pow(pairs[i] - expected_pairs, 2) / expected_pairs;
    }
    const double freedom = double((size - 1) * (size - 1)), of_pair_freedom = double(size * (size - 1));
    EXPECT_LT(of_places, freedom + 5 * std::sqrt(2 * freedom)) << size;
    EXPECT_LT(of_pairs, of_pair_freedom + 5 * std::sqrt(2 * of_pair_freedom)) << size;
  }
}

// Orders of rows are a promise: checkpoints of trainings name a row by its place in the epoch.
TEST(Permutation, NumbersStayAsTheyAre) {
  const auto first = [](int64_t size, uint64_t key, uint64_t time) {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < 8; ++i) numbers.push_back(Permutation(size, key, time)(i));
    return numbers;
  };
  EXPECT_EQ(first(8, 1, 0), (std::vector<int64_t>{6, 0, 7, 1, 3, 2, 4, 5}));
  EXPECT_EQ(first(1000, 1, 0), (std::vector<int64_t>{188, 730, 798, 960, 258, 108, 644, 249}));
  EXPECT_EQ(first(1000, 1, 1), (std::vector<int64_t>{16, 162, 150, 989, 880, 354, 435, 489}));
  EXPECT_EQ(first(1000000007, 2, 0), (std::vector<int64_t>{818882882, 953157462, 899984601, 510594054, 504710865,
                                                           967122834, 408489600, 826534819}));
}

}  // namespace
}  // namespace partita
