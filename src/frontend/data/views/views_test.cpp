#include <algorithm>
#include <numeric>
#include <thread>

#include "frontend/data/loading/batch.h"
#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/data/transforms/image_maps.h"
#include "frontend/data/views/concat.h"
#include "frontend/data/views/first_epoch.h"
#include "frontend/data/views/map.h"
#include "frontend/data/views/part.h"
#include "frontend/data/views/rename.h"
#include "frontend/data/views/repeat.h"
#include "frontend/data/views/select.h"
#include "frontend/data/views/shard.h"
#include "frontend/data/views/shards_in_turn.h"
#include "frontend/data/views/shuffle.h"
#include "frontend/data/views/unbatch.h"

namespace partita {
namespace {

using Values = std::vector<int64_t>;

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
  std::ranges::sort(first);
  std::ranges::sort(second);
  EXPECT_EQ(first, all);
  EXPECT_EQ(second, all);
}

TEST(Select, HasTheseRowsInThisOrder) {
  EXPECT_EQ(epoch_of(select(counting(5), {3, 1, 3}), 0), (Values{3, 1, 3}));
  const DatasetPtr selected = select(shuffle(counting(5), 6), {4, 0});
  const Values second = epoch_of(shuffle(counting(5), 6), 1);
  EXPECT_EQ(epoch_of(selected, 1), (Values{second[4], second[0]}));
  EXPECT_EQ(select(counting(5), {})->size(), 0);
  for (const int64_t row : {-1, 5}) {
    try {
      select(counting(5), {0, row});
      ADD_FAILURE() << row;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.what(), fmt::format("[select] no such row, got {}, expected 0 to 4", row));
    }
  }
}

TEST(FirstEpoch, IsEveryEpoch) {
  for (const DatasetPtr& rows : {counting(100), shuffle(counting(100), 6)}) {
    const DatasetPtr first = first_epoch(rows);
    EXPECT_EQ(epoch_of(first, 0), epoch_of(rows, 0));
    EXPECT_EQ(epoch_of(first, 2), epoch_of(rows, 0));
  }
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

TEST(Concat, GoesOnWithTheNext) {
  const DatasetPtr both = concat({counting(2), take(skip(counting(5), 1), 3)});
  EXPECT_EQ(epoch_of(both, 1), (Values{1000, 1001, 1001, 1002, 1003}));
  EXPECT_EQ(both->sample(0, 3), 4);
  const Batch batch = Batcher(both, {.batch = 5}).batch(0, 0);
  EXPECT_EQ(values(batch.arrays[0]), (Values{0, 1, 1, 2, 3}));
  expect_error<InvalidArgument>([] { concat({}); }, "no datasets");
  expect_error<InvalidArgument>(
      [] {
        concat({counting(2), rename(counting(2), {"other"})});
      },
      "columns differ, got other i64[], expected value i64[]");
}

TEST(Rename, KeepsRows) {
  const DatasetPtr renamed = rename(counting(3), {"number"});
  EXPECT_EQ(renamed->columns()[0].name, "number");
  EXPECT_EQ(epoch_of(renamed, 0), (Values{0, 1, 2}));
  expect_error<InvalidArgument>([] { rename(counting(3), {"a", "b"}); }, "number of names, got 2, expected 1");
}

TEST(Unbatch, HasTheRowsWithinRows) {
  const DatasetPtr batches = memory_rows(
      {{"x", Array({3, 2, 1}, Values{1, 2, 3, 4, 5, 6})}, {"y", Array({3, 2}, Values{10, 20, 30, 40, 50, 60})}});
  const DatasetPtr rows = unbatch(batches);
  EXPECT_EQ(rows->size(), 6);
  EXPECT_EQ(print(rows->columns()[0].type), "i64[1]");
  const Batch batch = Batcher(rows, {.batch = 4, .drop_remainder = false}).batch(0, 1);
  EXPECT_EQ(values(batch.arrays[1]), (Values{50, 60}));
  EXPECT_EQ(values(Batcher(shuffle(rows, 3), {.batch = 6}).batch(0, 0).arrays[0]).size(), 6u);
  expect_error<InvalidArgument>([] { unbatch(counting(3)); }, "no batch in column 'value', got i64[]");
  expect_error<InvalidArgument>(
      [] {
        unbatch(memory_rows({{"x", Array({1, 2}, Values{1, 2})}, {"y", Array({1, 3}, Values{1, 2, 3})}}));
      },
      "column 'y', got i64[3], expected as many rows as in i64[2]");
}

TEST(ShardsInTurn, GiveEachRankItsShard) {
  for (const int64_t ranks : {1, 2, 3}) {
    std::vector<DatasetPtr> shards;
    for (int64_t r = 0; r < ranks; ++r) shards.push_back(shard(counting(23), ranks, r));
    const DatasetPtr all = shards_in_turn(shards, 2);
    EXPECT_EQ(all->size(), shards[0]->size() / 2 * 2 * ranks);
    for (int64_t r = 0; r < ranks; ++r) {
      const Batcher own(shards[static_cast<size_t>(r)], {.batch = 2});
      const Batcher part(all, {.batch = 2 * ranks, .rank = r, .ranks = ranks});
      ASSERT_EQ(part.batches(), own.batches());
      for (int64_t b = 0; b < own.batches(); ++b) {
        EXPECT_EQ(values(part.batch(1, b).arrays[0]), values(own.batch(1, b).arrays[0])) << r << " of " << ranks;
      }
    }
  }
  expect_error<InvalidArgument>([] { shards_in_turn({counting(3)}, 0); }, "bad batch, got 0");
  expect_error<InvalidArgument>([] { shards_in_turn({}, 1); }, "no datasets");
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
