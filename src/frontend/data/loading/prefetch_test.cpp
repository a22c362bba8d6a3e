#include "frontend/data/loading/prefetch.h"

#include <atomic>
#include <chrono>

#include "base/test_memory.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/data/views/shuffle.h"

namespace partita {
namespace {

/// Rows that take different times to read. Counts its reads and fails at one row.
class Uneven : public Counting {
 public:
  explicit Uneven(int64_t rows, int64_t bad_row = -1) : Counting(rows), bad_row_(bad_row) {}
  int reads() const { return reads_; }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    ++reads_;
    for (int64_t index : indices) {
      if (index == bad_row_) throw InvalidFile("[test] bad row, got one, expected none");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(indices[0] * 7 % 5 * 200));
    Counting::fill(epoch, indices, out);
  }

 private:
  int64_t bad_row_;
  mutable std::atomic<int> reads_ = 0;
};

/// Rows that wait until they may be read.
class Late : public Counting {
 public:
  explicit Late(const std::atomic<bool>& begin) : Counting(1000), begin_(begin) {}

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    while (!begin_) std::this_thread::yield();
    Counting::fill(epoch, indices, out);
  }

 private:
  const std::atomic<bool>& begin_;
};

TEST(Prefetcher, KeepsTheOrderAcrossEpochs) {
  const Batcher batcher(shuffle(std::make_shared<Uneven>(25), 3), {.batch = 4});
  for (int workers : {1, 2, 3}) {
    Prefetcher prefetcher(batcher, {.workers = workers, .depth = 3});
    for (int64_t i = 0; i < 20; ++i) {
      const DataPosition place{i / 6, i % 6};
      EXPECT_EQ(prefetcher.position(), place);
      const Batch batch = prefetcher.next();
      EXPECT_EQ(batch.epoch, place.epoch);
      EXPECT_EQ(batch.index, place.batch);
      EXPECT_EQ(values(batch.arrays[0]), values(batcher.batch(place.epoch, place.batch).arrays[0]));
    }
  }
}

TEST(Prefetcher, GoesOnFromAPosition) {
  const Batcher batcher(std::make_shared<Counting>(12), {.batch = 4});
  Prefetcher middle(batcher, {.workers = 2}, {.epoch = 2, .batch = 1});
  EXPECT_EQ(values(middle.next().arrays[0])[0], 2004);
  EXPECT_EQ(middle.position(), (DataPosition{2, 2}));
  Prefetcher end(batcher, {}, {.epoch = 2, .batch = 3});
  EXPECT_EQ(end.position(), (DataPosition{3, 0}));
  EXPECT_EQ(values(end.next().arrays[0])[0], 3000);
}

TEST(Prefetcher, DeliversErrorsInOrder) {
  for (int workers : {1, 3}) {
    Prefetcher prefetcher(Batcher(std::make_shared<Uneven>(20, 9), {.batch = 4}), {.workers = workers, .depth = 5});
    EXPECT_EQ(values(prefetcher.next().arrays[0])[0], 0);
    EXPECT_EQ(values(prefetcher.next().arrays[0])[0], 4);
    EXPECT_THROW(prefetcher.next(), InvalidFile);
    EXPECT_THROW(prefetcher.next(), InvalidFile);
    EXPECT_EQ(prefetcher.position(), (DataPosition{0, 2}));
  }
}

TEST(Prefetcher, IsReadyOnceTheNextBatchIsRead) {
  std::atomic<bool> begins = false;
  Prefetcher slow(Batcher(std::make_shared<Late>(begins), {.batch = 4}), {});
  EXPECT_FALSE(slow.is_ready());
  begins = true;
  while (!slow.is_ready()) std::this_thread::yield();
  EXPECT_EQ(values(slow.next().arrays[0])[0], 0);
  // A batch that cannot be read is none.
  const auto data = std::make_shared<Uneven>(20, 1);
  Prefetcher bad(Batcher(data, {.batch = 4}), {.workers = 1, .depth = 1});
  while (data->reads() == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(bad.is_ready());
  EXPECT_THROW(bad.next(), InvalidFile);
}

TEST(Prefetcher, IsBoundedAndStopsWhenFull) {
  const auto data = std::make_shared<Uneven>(40);
  {
    Prefetcher prefetcher(Batcher(data, {.batch = 4}), {.workers = 3, .depth = 2});
    prefetcher.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  EXPECT_LE(data->reads(), 3);
  { Prefetcher unused(Batcher(data, {.batch = 4}), {.workers = 3, .depth = 64}); }
}

TEST(Prefetcher, RefusesBadOptions) {
  const Batcher batcher(std::make_shared<Counting>(12), {.batch = 4});
  const auto make = [&](PrefetchOptions options, DataPosition start) {
    return [=] { Prefetcher(batcher, options, start); };
  };
  expect_error<InvalidArgument>(make({.workers = 0}, {}), "workers, got 0");
  expect_error<InvalidArgument>(make({.workers = 1, .depth = 0}, {}), "depth, got 0");
  expect_error<InvalidArgument>(make({}, {.epoch = 0, .batch = 4}), "batch 0 to 3");
  expect_error<InvalidArgument>(make({}, {.epoch = -1, .batch = 0}), "got epoch -1");
}

bool lacks_memory_for_a_batch() {
  std::atomic<bool> begin = false;
  Prefetcher prefetcher(Batcher(std::make_shared<Late>(begin), {.batch = 1}), {.workers = 1, .depth = 64});
  std::vector<Batch> kept(1000);  // so that no later batch reuses their memory
  use_up_memory(Left::small);     // enough for the rows of some batches
  begin = true;
  try {
    for (Batch& batch : kept) prefetcher.next(batch);
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

TEST(Prefetcher, ALackOfMemoryIsTheErrorOfABatch) {
  if (!can_use_up_memory()) GTEST_SKIP();
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(exit_when_true(&lacks_memory_for_a_batch), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace partita
