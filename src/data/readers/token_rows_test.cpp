#include "data/readers/token_rows.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "data/readers/test_files.h"

namespace partita {
namespace {

std::vector<int32_t> numbers_of_token_rows(const Array& array) {
  return {array.as<int32_t>(), array.as<int32_t>() + array.type().elements()};
}

TEST(TokenRows, LabelsAreTheNextTokens) {
  const DatasetPtr rows = token_rows({1, 2, 3, 4, 5, 6, 7, 8}, 3);
  ASSERT_EQ(rows->size(), 2);
  const Row row = rows->row(0, 1);
  EXPECT_EQ(numbers_of_token_rows(row[0]), (std::vector<int32_t>{4, 5, 6}));
  EXPECT_EQ(numbers_of_token_rows(row[1]), (std::vector<int32_t>{5, 6, 7}));
}

TEST(TokenRows, AFileIsSplitAtNineTenths) {
  const TempDir folder;
  Bytes text(100);
  std::iota(text.begin(), text.end(), 0);
  folder.write("t.txt", text);
  EXPECT_EQ(read_text(folder.path() / "t.txt", Split::train, 4)->size(), 22);
  const DatasetPtr test = read_text(folder.path() / "t.txt", Split::test, 4);
  ASSERT_EQ(test->size(), 2);
  EXPECT_EQ(numbers_of_token_rows(test->row(0, 0)[0]), (std::vector<int32_t>{90, 91, 92, 93}));
}

TEST(TokenRows, AShortFileIsRefused) {
  const TempDir folder;
  folder.write("t.txt", Bytes(10, 'x'));
  try {
    read_text(folder.path() / "t.txt", Split::test, 4);
    FAIL();
  } catch (const InvalidFile& error) {
    EXPECT_NE(std::string(error.what()).find("too short, got 1 bytes for testing, expected more than 4"),
              std::string::npos);
  }
}

TEST(TokenRows, TheStandInFollowsItsTable) {
  const DatasetPtr rows = make_synthetic_text(50, 40, /*seed=*/1, Split::train);
  std::map<std::pair<int, int>, std::map<int, int>> seen;
  int all = 0, usual = 0;
  for (int64_t i = 0; i < rows->size(); ++i) {
    const Row row = rows->row(0, i);
    const auto tokens = numbers_of_token_rows(row[0]), labels = numbers_of_token_rows(row[1]);
    for (size_t j = 1; j < tokens.size(); ++j) ++seen[{tokens[j - 1], tokens[j]}][labels[j]];
  }
  for (const auto& [pair, next] : seen) {
    int most = 0;
    for (const auto& [letter, count] : next) {
      all += count;
      most = std::max(most, count);
    }
    usual += most;
  }
  EXPECT_GT(usual, all * 85 / 100);
}

}  // namespace
}  // namespace partita
