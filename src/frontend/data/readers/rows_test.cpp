// Rows in memory, generated rows, and the views that join and select columns.

#include "frontend/data/readers/generated_rows.h"
#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/data/views/project.h"
#include "frontend/data/views/shuffle.h"
#include "frontend/data/views/zip.h"

namespace partita {
namespace {

using Values = std::vector<int64_t>;

Array longs(const Values& values) { return {{static_cast<int64_t>(values.size())}, values}; }

TEST(MemoryRows, GivesRowsOfEachArray) {
  const DatasetPtr rows = memory_rows({{"a", longs({5, 6, 7})}, {"b", Array({3, 2}, Values{1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(rows->size(), 3);
  EXPECT_EQ(print(rows->columns()[1].type), "i64[2]");
  const Row row = rows->row(0, 2);
  EXPECT_EQ(values(row[0]), Values{7});
  EXPECT_EQ(values(row[1]), (Values{5, 6}));
  expect_error<InvalidArgument>([] { memory_rows({}); }, "no columns");
  expect_error<InvalidArgument>([] { memory_rows({{"a", Array(Type{DType::f32, {}})}}); }, "no rows in column 'a'");
  expect_error<InvalidArgument>(
      [] {
        memory_rows({{"a", longs({1})}, {"b", longs({1, 2})}});
      },
      "got 2 rows of 'b', expected 1 as in 'a'");
  expect_error<InvalidArgument>(
      [] {
        memory_rows({{"a", longs({1})}, {"a", longs({1})}});
      },
      "repeated column, got 'a'");
}

TEST(GeneratedRows, CallsTheFunction) {
  const std::vector<Column> columns{{"value", {DType::i64, {}}}, {"pair", {DType::i64, {2}}}};
  const DatasetPtr rows = generated_rows(columns, 4, [](int64_t epoch, int64_t index, std::span<const Tensor> row) {
    row[0].as<int64_t>()[0] = 100 * epoch + index;
    row[1].as<int64_t>()[1] = index;
  });
  EXPECT_EQ(epoch_of(rows, 2), (Values{200, 201, 202, 203}));
  EXPECT_EQ(values(rows->row(0, 3)[1]), (Values{0, 3}));
  EXPECT_EQ(epoch_of(shuffle(rows, 1), 0).size(), 4);
  expect_error<InvalidArgument>([&] { generated_rows(columns, -1, [](auto...) {}); }, "bad size, got -1");
  expect_error<InvalidArgument>([&] { generated_rows(columns, 1, nullptr); }, "no function");
  expect_error<InvalidArgument>([&] { generated_rows({}, 1, [](auto...) {}); }, "no columns");
}

TEST(CollectedRows, ReadsUntilTheEnd) {
  int64_t count = 0;
  const DatasetPtr rows = collected_rows({{"value", {DType::i64, {}}}}, [&](std::span<const Tensor> row) {
    row[0].as<int64_t>()[0] = 10 * count;
    return count++ < 3;
  });
  EXPECT_EQ(epoch_of(rows, 0), (Values{0, 10, 20}));
  EXPECT_EQ(collected_rows(rows->columns(), [](auto) { return false; })->size(), 0);
}

TEST(Zip, JoinsColumnsOfTheSameRow) {
  const DatasetPtr a = memory_rows({{"a", longs({1, 2, 3})}}), b = memory_rows({{"b", longs({4, 5})}});
  const DatasetPtr both = zip({a, b});
  EXPECT_EQ(both->size(), 2);
  EXPECT_EQ(both->columns()[1].name, "b");
  EXPECT_EQ(values(both->row(0, 1)[1]), Values{5});
  EXPECT_EQ(zip({shuffle(a, 3), b})->sample(1, 0), shuffle(a, 3)->sample(1, 0));
  expect_error<InvalidArgument>([&] { zip({a, a}); }, "repeated column, got 'a'");
  expect_error<InvalidArgument>([] { zip({}); }, "no datasets");
}

TEST(Project, ChoosesAndOrdersColumns) {
  const DatasetPtr rows = memory_rows({{"a", longs({1, 2})}, {"b", longs({3, 4})}, {"c", longs({5, 6})}});
  const DatasetPtr chosen = project(rows, {"c", "a"});
  EXPECT_EQ(chosen->columns().size(), 2);
  const Row row = chosen->row(0, 1);
  EXPECT_EQ(values(row[0]), Values{6});
  EXPECT_EQ(values(row[1]), Values{2});
  expect_error<InvalidArgument>([&] { project(rows, {"a", "a"}); }, "repeated column, got 'a'");
  expect_error<InvalidArgument>([&] { project(rows, {"d"}); }, "unknown column, got 'd'");
  expect_error<InvalidArgument>([&] { project(rows, {}); }, "no columns");
}

}  // namespace
}  // namespace partita
