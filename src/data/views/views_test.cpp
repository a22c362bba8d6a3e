#include <algorithm>
#include <numeric>
#include <thread>

#include "data/loading/batch.h"
#include "data/readers/test_files.h"
#include "data/transforms/image_maps.h"
#include "data/views/map.h"
#include "data/views/repeat.h"
#include "data/views/shard.h"
#include "data/views/shuffle.h"
#include "data/views/skip.h"
#include "data/views/take.h"

namespace partita {
namespace {

using Values = std::vector<int64_t>;

DatasetPtr counting(int64_t rows) { return std::make_shared<Counting>(rows); }

TEST(Shuffle, IsAFreshPermutationPerEpoch) {
  const DatasetPtr shuffled = shuffle(counting(100), 5);
  Values first = epoch_of(shuffled, 0);
  Values second = epoch_of(shuffled, 1);
  EXPECT_EQ(first, epoch_of(shuffle(counting(100), 5), 0));
  EXPECT_NE(first, epoch_of(shuffle(counting(100), 6), 0));
  for (int64_t& value : second) value -= 1000;
  EXPECT_NE(first, second);
  EXPECT_EQ(shuffled->sample(0, 3), first[3]);
  Values all(100);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_NE(first, all);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, all);
  EXPECT_EQ(second, all);
}

TEST(Shuffle, IsTheSameFromManyThreads) {
  const DatasetPtr shuffled = shuffle(counting(50), 5);
  std::vector<Values> found(4);
  {
    std::vector<std::jthread> threads;
    for (Values& values : found) {
      threads.emplace_back([&] {
        for (int64_t epoch = 0; epoch < 6; ++epoch) {
          const Values more = epoch_of(shuffled, epoch);
          values.insert(values.end(), more.begin(), more.end());
        }
      });
    }
  }
  for (const Values& values : found) EXPECT_EQ(values, found[0]);
}

TEST(Repeat, CountsPassesAsEpochs) {
  const DatasetPtr repeated = repeat(counting(2), 3);
  EXPECT_EQ(epoch_of(repeated, 0), (Values{0, 1, 1000, 1001, 2000, 2001}));
  EXPECT_EQ(epoch_of(repeated, 1), (Values{3000, 3001, 4000, 4001, 5000, 5001}));
  EXPECT_EQ(repeated->sample(0, 5), 5);
  // A batch across passes is read in runs.
  const Batch batch = Batcher(repeated, {.batch = 4, .drop_remainder = false}).batch(0, 0);
  EXPECT_EQ(values(batch.arrays[0]), (Values{0, 1, 1000, 1001}));
  expect_error<InvalidArgument>([] { repeat(counting(2), 0); }, "got 0, expected 1 to");
  EXPECT_EQ(repeat(counting(0), 3)->size(), 0);
}

TEST(Shard, WrapsToEqualLengths) {
  EXPECT_EQ(epoch_of(shard(counting(7), 3, 0), 0), (Values{0, 3, 6}));
  EXPECT_EQ(epoch_of(shard(counting(7), 3, 1), 0), (Values{1, 4, 0}));
  EXPECT_EQ(epoch_of(shard(counting(7), 3, 2), 0), (Values{2, 5, 1}));
  EXPECT_EQ(epoch_of(shard(counting(2), 5, 4), 0), (Values{0}));
  EXPECT_EQ(shard(counting(0), 5, 4)->size(), 0);
  expect_error<InvalidArgument>([] { shard(counting(7), 3, 3); }, "0 <= shard_id < 3");
  expect_error<InvalidArgument>([] { shard(counting(7), 0, 0); }, "num_shards, got 0");
}

TEST(TakeAndSkip, CutAtTheEnds) {
  EXPECT_EQ(epoch_of(take(counting(5), 2), 0), (Values{0, 1}));
  EXPECT_EQ(epoch_of(skip(counting(5), 3), 0), (Values{3, 4}));
  EXPECT_EQ(take(counting(5), 9)->size(), 5);
  EXPECT_EQ(skip(counting(5), 9)->size(), 0);
  EXPECT_EQ(epoch_of(take(skip(counting(5), 1), 2), 0), (Values{1, 2}));
  EXPECT_EQ(skip(counting(5), 3)->sample(0, 1), 4);
  expect_error<InvalidArgument>([] { take(counting(5), -1); }, "got -1");
  expect_error<InvalidArgument>([] { skip(counting(5), -1); }, "got -1");
  expect_error<InvalidArgument>([] { take(counting(5), 2)->row(0, 2); }, "0 <= index < 2");
}

TEST(Map, MapsNamedColumns) {
  const DatasetPtr mapped = map(counting(5), {"value"}, rescale(0.5, 1));
  EXPECT_EQ(print(mapped->columns()[0].type), "f32[]");
  EXPECT_EQ(mapped->row(0, 4)[0].at(0), 3);
  expect_error<InvalidArgument>([] { map(counting(5), {"valeu"}, rescale(1, 0)); }, "did you mean 'value'?");
  expect_error<InvalidArgument>([] { map(counting(5), {"value", "value"}, rescale(1, 0)); }, "repeated column");
  expect_error<InvalidArgument>([] { map(counting(5), {"value"}, hwc_to_chw()); }, "got i64[]");
}

}  // namespace
}  // namespace partita
