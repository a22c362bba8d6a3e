#include "compiler/schedule/last_fit.h"

#include <gtest/gtest.h>

#include <random>

namespace partita {
namespace {

TEST(LastFit, FindsWhatALookThroughAllFinds) {
  std::mt19937 random(1);
  LastFit tree;
  std::vector<int64_t> list;
  EXPECT_EQ(tree.last_at_least(0), -1);
  for (int step = 0; step < 2000; ++step) {
    const auto number = static_cast<int64_t>(random() % 100) - 10;
    if (list.empty() || random() % 2 == 0) {
      list.push_back(number);
      tree.push_back(number);
    } else {
      const int place = static_cast<int>(random() % list.size());
      list[place] = number;
      tree.set(place, number);
    }
    const auto asked = static_cast<int64_t>(random() % 110);
    int expected = static_cast<int>(list.size()) - 1;
    while (expected >= 0 && list[expected] < asked) --expected;
    ASSERT_EQ(tree.last_at_least(asked), expected) << "step " << step;
  }
}

}  // namespace
}  // namespace partita
