#include "frontend/data/readers/record_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace partita {
namespace {

const RecordFormat kRecords{.ids = 3, .rows = 40, .features = 2};

TEST(RecordRows, ColumnsAreThoseOfTheFormat) {
  const std::vector<Column> columns = record_columns(kRecords);
  EXPECT_EQ(columns, (std::vector<Column>{
                         {"ids", {DType::i32, {3}}}, {"features", {DType::f32, {2}}}, {"label", {DType::i32, {}}}}));
  EXPECT_EQ(record_columns({.ids = 3, .rows = 40}).size(), 2);
}

TEST(RecordRows, LabelsAreBalancedAndIdsOfTheTable) {
  const DatasetPtr rows = make_synthetic_records(2000, kRecords, /*seed=*/1, Split::train);
  ASSERT_EQ(rows->size(), 2000);
  std::vector<int> counts(40, 0);
  int positive = 0;
  for (int64_t i = 0; i < rows->size(); ++i) {
    const Row row = rows->row(0, i);
    for (int64_t k = 0; k < 3; ++k) {
      ASSERT_TRUE(row[0].at(k) >= 0 && row[0].at(k) < 40);
      ++counts[static_cast<size_t>(row[0].at(k))];
    }
    positive += row[2].at(0) == 1;
  }
  EXPECT_GT(counts[0], 5 * counts[39]);  // small ids are frequent
  EXPECT_GT(*std::ranges::min_element(counts), 0);
  EXPECT_GT(positive, 500);
  EXPECT_LT(positive, 1500);
}

// Both splits share the hidden weights, but not the rows.
TEST(RecordRows, SplitsDifferInRowsAlone) {
  const DatasetPtr train = make_synthetic_records(10, kRecords, 1, Split::train);
  const DatasetPtr test = make_synthetic_records(10, kRecords, 1, Split::test);
  EXPECT_NE(train->row(0, 0)[1].at(0), test->row(0, 0)[1].at(0));
  EXPECT_EQ(train->row(0, 3)[1].at(0), train->row(2, 3)[1].at(0));
}

}  // namespace
}  // namespace partita
