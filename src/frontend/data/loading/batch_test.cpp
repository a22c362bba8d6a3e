#include "frontend/data/loading/batch.h"

#include "frontend/data/readers/test_files.h"
#include "frontend/data/views/shuffle.h"

namespace partita {
namespace {

TEST(Batcher, RanksTogetherHaveTheGlobalBatch) {
  const DatasetPtr data = shuffle(counting(37), 2);
  for (bool drop : {true, false}) {
    const Batcher whole(data, {.batch = 10, .drop_remainder = drop});
    EXPECT_EQ(whole.batches(), drop ? 3 : 4);
    for (int64_t ranks : {1, 2, 3, 4, 6, 8}) {
      for (int64_t index = 0; index < whole.batches(); ++index) {
        std::vector<int64_t> joined;
        for (int64_t rank = 0; rank < ranks; ++rank) {
          // Each rank has its own shuffle, as in separate processes.
          const Batcher part(shuffle(counting(37), 2),
                             {.batch = 10, .drop_remainder = drop, .rank = rank, .ranks = ranks});
          const std::vector<int64_t> rows = values(part.batch(1, index).arrays[0]);
          joined.insert(joined.end(), rows.begin(), rows.end());
        }
        EXPECT_EQ(joined, values(whole.batch(1, index).arrays[0])) << ranks << " " << index;
      }
    }
  }
}

TEST(Batcher, CutsByTheFloorRule) {
  EXPECT_EQ(rows_of_rank(10, 0, 3).first, 0);
  EXPECT_EQ(rows_of_rank(10, 1, 3).first, 3);
  EXPECT_EQ(rows_of_rank(10, 2, 3).first, 6);
  EXPECT_EQ(rows_of_rank(10, 2, 3).last, 10);
  const Batcher part(counting(3), {.batch = 3, .rank = 0, .ranks = 4});
  EXPECT_EQ(print(part.batch(0, 0).arrays[0].type()), "i64[0]");
}

TEST(Batcher, SaysWhereABatchIs) {
  const Batch batch = Batcher(counting(6), {.batch = 2}).batch(4, 2);
  EXPECT_EQ(batch.epoch, 4);
  EXPECT_EQ(batch.index, 2);
  EXPECT_EQ(batch.columns[0].name, "value");
  EXPECT_EQ(values(batch.arrays[0]), (std::vector<int64_t>{4004, 4005}));
}

TEST(Batcher, RefusesBadOptions) {
  const auto make = [](int64_t rows, BatchOptions options) { return [=] { Batcher(counting(rows), options); }; };
  expect_error<InvalidArgument>(make(0, {.drop_remainder = false}), "empty dataset");
  expect_error<InvalidArgument>(make(5, {.batch = 6}), "got 6, expected at most 5");
  expect_error<InvalidArgument>(make(5, {.batch = 0}), "got 0, expected 1 to");
  expect_error<InvalidArgument>(make(5, {.batch = 2, .rank = 2, .ranks = 2}), "0 <= rank < 2");
  expect_error<InvalidArgument>(make(5, {.batch = 2, .ranks = 0}), "number of ranks, got 0");
  EXPECT_EQ(Batcher(counting(5), {.batch = 6, .drop_remainder = false}).batches(), 1);
  expect_error<InvalidArgument>([] { Batcher(counting(5), {.batch = 2}).batch(0, 2); }, "0 <= index < 2");
}

}  // namespace
}  // namespace partita
