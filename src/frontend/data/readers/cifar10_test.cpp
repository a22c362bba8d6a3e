#include "frontend/data/readers/cifar10.h"

#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

Bytes record(uint8_t label, uint8_t red, uint8_t green, uint8_t blue) {
  Bytes bytes = {label};
  for (uint8_t value : {red, green, blue}) bytes.insert(bytes.end(), 1024, value);
  return bytes;
}

TEST(Cifar10, ReadsTheFirstBatches) {
  const TempDir dir;
  Bytes two = record(1, 10, 20, 30);
  const Bytes second = record(2, 11, 21, 31);
  two.insert(two.end(), second.begin(), second.end());
  two[1 + 5] = 99;  // red of pixel 5
  dir.write("data_batch_1.bin.xz", xz(two));
  dir.write("data_batch_2.bin.gz", gzip(record(3, 12, 22, 32)));
  dir.write("test_batch.bin", record(4, 13, 23, 33));
  const DatasetPtr train = read_cifar10(dir.path(), Split::train);
  ASSERT_EQ(train->size(), 3);
  EXPECT_EQ(count_cifar10_batches(dir.path()), 2);
  EXPECT_EQ(print(train->columns()[0].type), "u8[32,32,3]");
  const Row first = train->row(0, 0);
  EXPECT_EQ(first[1].at(0), 1);
  EXPECT_EQ(first[0].at(0), 10);
  EXPECT_EQ(first[0].at(1), 20);
  EXPECT_EQ(first[0].at(2), 30);
  EXPECT_EQ(first[0].at(15), 99);
  EXPECT_EQ(train->row(0, 2)[0].at(3071), 32);
  EXPECT_EQ(train->row(0, 2)[1].at(0), 3);
  EXPECT_EQ(read_cifar10(dir.path(), Split::test)->row(0, 0)[1].at(0), 4);
}

TEST(Cifar10, RefusesAGapBetweenBatches) {
  const TempDir dir;
  const auto train = [&] { read_cifar10(dir.path(), Split::train); };
  for (int i : {1, 3, 4}) dir.write(fmt::format("data_batch_{}.bin", i), record(1, 1, 1, 1));
  expect_error<MissingFile>(train, "got data_batch_3.bin without data_batch_2.bin, expected all five or the first");
  dir.write("data_batch_2.bin", record(1, 1, 1, 1));
  EXPECT_NO_THROW(train());
  std::filesystem::remove(dir.path() / "data_batch_1.bin");
  expect_error<MissingFile>(train, "got data_batch_2.bin without data_batch_1.bin");
}

TEST(Cifar10, RefusesBadFiles) {
  const TempDir dir;
  const auto train = [&] { read_cifar10(dir.path(), Split::train); };
  expect_error<MissingFile>(train, "data_batch_1.bin");
  expect_error<MissingFile>([&] { read_cifar10(dir.path(), Split::test); }, "test_batch.bin");
  Bytes cut = record(1, 1, 1, 1);
  cut.pop_back();
  dir.write("data_batch_1.bin", cut);
  expect_error<InvalidFile>(train, "got 3072 bytes, expected a multiple of 3073");
  dir.write("data_batch_1.bin", record(10, 1, 1, 1));
  expect_error<InvalidFile>(train, "at byte 0, got 10");
}

TEST(Cifar10, ReadsTheRealFiles) {
  const auto directory = real_data("cifar10");
  if (directory.empty()) GTEST_SKIP() << "no CIFAR-10 files";
  const DatasetPtr test = read_cifar10(directory, Split::test);
  EXPECT_EQ(test->size(), 10000);
  const Row first = test->row(0, 0);
  EXPECT_EQ(first[1].at(0), 3);
  EXPECT_EQ(first[0].at(0), 0x9e);
  EXPECT_EQ(first[0].at(3), 0x9f);
}

}  // namespace
}  // namespace partita
