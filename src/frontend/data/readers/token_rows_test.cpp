#include "frontend/data/readers/token_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

std::vector<int32_t> numbers_of_token_rows(const Array& array) {
  return {array.as<int32_t>(), array.as<int32_t>() + array.type().elements()};
}

TEST(TokenRows, LabelsAreTheNextTokens) {
  const DatasetPtr rows = token_rows({1, 2, 3, 4, 5, 6, 7, 8}, {.tokens = 3});
  ASSERT_EQ(rows->size(), 2);
  const Row row = rows->row(0, 1);
  EXPECT_EQ(numbers_of_token_rows(row[0]), (std::vector<int32_t>{4, 5, 6}));
  EXPECT_EQ(numbers_of_token_rows(row[1]), (std::vector<int32_t>{5, 6, 7}));
}

TEST(TokenRows, LabelsContinueTheTokens) {
  const DatasetPtr rows =
      token_rows({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {.tokens = 3, .task = TextTask::continuation, .targets = 2});
  ASSERT_EQ(rows->size(), 2);
  const Row row = rows->row(0, 1);
  EXPECT_EQ(numbers_of_token_rows(row[0]), (std::vector<int32_t>{6, 7, 8}));
  EXPECT_EQ(numbers_of_token_rows(row[1]), (std::vector<int32_t>{9, 10}));
}

// Every position is equally frequent, and eight of ten hidden tokens are the mask.
TEST(TokenRows, MaskedRowsHideWhatTheirLabelsSay) {
  constexpr int64_t kTokens = 20, kHidden = 3, kRows = 400;
  std::vector<uint8_t> bytes(kTokens * kRows);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(1 + i % kTokens + 20 * (i / kTokens % 5));
  const TextFormat format{.tokens = kTokens, .task = TextTask::masked, .targets = kHidden, .mask = 256};
  const DatasetPtr rows = token_rows(bytes, format);
  ASSERT_EQ(rows->size(), kRows);
  std::vector<int> chosen(kTokens, 0);
  int masks = 0, kept = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    const Row row = rows->row(0, i), again = rows->row(0, i);
    const auto tokens = numbers_of_token_rows(row[0]), labels = numbers_of_token_rows(row[1]),
               positions = numbers_of_token_rows(row[2]);
    EXPECT_EQ(numbers_of_token_rows(again[0]), tokens);
    ASSERT_TRUE(std::ranges::is_sorted(positions, std::less_equal<>())) << i;  // and distinct
    std::vector<int32_t> whole = tokens;
    for (int64_t k = 0; k < kHidden; ++k) {
      whole[positions[k]] = labels[k];
      ++chosen[positions[k]];
      masks += tokens[positions[k]] == 256;
      kept += tokens[positions[k]] == labels[k];
    }
    EXPECT_EQ(whole, std::vector<int32_t>(bytes.begin() + i * kTokens, bytes.begin() + (i + 1) * kTokens));
  }
  for (const int count : chosen) EXPECT_NEAR(count, kRows * kHidden / kTokens, 30);  // four standard deviations
  EXPECT_NEAR(masks, 960, 60);
  EXPECT_NEAR(kept, 126, 45);  // one of ten, and one of twenty of another tenth
  EXPECT_NE(numbers_of_token_rows(rows->row(0, 0)[2]), numbers_of_token_rows(rows->row(1, 0)[2]));
}

TEST(TokenRows, AFileIsSplitAtNineTenths) {
  const TempDir folder;
  Bytes text(100);
  std::iota(text.begin(), text.end(), 0);
  folder.write("t.txt", text);
  EXPECT_EQ(read_text(folder.path() / "t.txt", Split::train, {.tokens = 4})->size(), 22);
  const DatasetPtr test = read_text(folder.path() / "t.txt", Split::test, {.tokens = 4});
  ASSERT_EQ(test->size(), 2);
  EXPECT_EQ(numbers_of_token_rows(test->row(0, 0)[0]), (std::vector<int32_t>{90, 91, 92, 93}));
}

TEST(TokenRows, AShortFileIsRefused) {
  const TempDir folder;
  folder.write("t.txt", Bytes(10, 'x'));
  try {
    read_text(folder.path() / "t.txt", Split::test, {.tokens = 4});
    FAIL();
  } catch (const InvalidFile& error) {
    EXPECT_NE(std::string(error.what()).find("too short, got 1 bytes for testing, expected more than 4"),
              std::string::npos);
  }
}

TEST(TokenRows, TheStandInFollowsItsTable) {
  const DatasetPtr rows = make_synthetic_text(50, {.tokens = 40}, /*seed=*/1, Split::train);
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

// A file of zeros with a few letters, which takes no place on the disk.
TEST(TokenRows, LargeTextsAreReadInPlace) {
  const TempDir dir;
  const auto path = dir.write("large.txt", {});
  const int64_t bytes = int64_t{3} << 30, border = static_cast<int64_t>(static_cast<double>(bytes) * 0.9);
  std::filesystem::resize_file(path, static_cast<uintmax_t>(bytes));
  std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](int64_t at, const std::string& text) {
    stream.seekp(at);
    stream << text << std::flush;
  };
  put(int64_t{2} << 30, "to be or");
  put(border, "not to be");
  const DatasetPtr train = read_text(path, Split::train, {.tokens = 4}),
                   test = read_text(path, Split::test, {.tokens = 4});
  EXPECT_EQ(train->size(), (border - 5) / 4 + 1);
  EXPECT_EQ(numbers_of_token_rows(train->row(0, int64_t{1} << 29)[0]), (std::vector<int32_t>{'t', 'o', ' ', 'b'}));
  EXPECT_EQ(numbers_of_token_rows(test->row(0, 0)[1]), (std::vector<int32_t>{'o', 't', ' ', 't'}));
  EXPECT_FALSE(train->integers(0));
  const DatasetPtr small = read_text(path, Split::test, {.tokens = 4, .vocabulary = 112});
  expect_error<InvalidFile>([&] { small->row(0, 0); },
                            fmt::format("got 116 at position {}, expected 0 to 111", border + 2));
}

}  // namespace
}  // namespace partita
