#include "frontend/data/views/checked_ids.h"

#include <random>

#include "frontend/data/readers/generated_rows.h"
#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/data/readers/token_rows.h"
#include "frontend/data/transforms/image_maps.h"
#include "frontend/data/views/concat.h"
#include "frontend/data/views/first_epoch.h"
#include "frontend/data/views/map.h"
#include "frontend/data/views/part.h"
#include "frontend/data/views/project.h"
#include "frontend/data/views/rename.h"
#include "frontend/data/views/repeat.h"
#include "frontend/data/views/shuffle.h"
#include "frontend/data/views/zip.h"

namespace partita {
namespace {

using Extremes = std::pair<int64_t, int64_t>;

/// Returns the range of a column by reading all rows.
Extremes read_extremes(const DatasetPtr& rows, size_t column) {
  Extremes found{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (int64_t i = 0; i < rows->size(); ++i) {
    for (const double number : numbers(rows->row(0, i)[column])) {
      found.first = std::min(found.first, static_cast<int64_t>(number));
      found.second = std::max(found.second, static_cast<int64_t>(number));
    }
  }
  return found;
}

DatasetPtr random_rows(std::mt19937& random, int64_t rows, const std::string& prefix) {
  Array first(Type{random() % 2 == 0 ? DType::i64 : DType::i32, {rows, 3}}), second(Type{DType::f32, {rows}});
  for (int64_t i = 0; i < 3 * rows; ++i) first.set(i, static_cast<double>(random() % 2000) - 1000);
  for (int64_t i = 0; i < rows; ++i) second.set(i, static_cast<double>(random() % 2000) / 8 - 100);
  return memory_rows({{prefix + "a", std::move(first)}, {prefix + "b", std::move(second)}});
}

DatasetPtr random_view(std::mt19937& random, DatasetPtr rows, int depth) {
  const std::vector<Column> columns = rows->columns();
  switch (random() % 10) {
    case 0: return shuffle(rows, random());
    case 1: return repeat(rows, 1 + static_cast<int64_t>(random() % 3));
    case 2: return first_epoch(rows);
    case 3: return project(rows, {columns.back().name, columns.front().name});
    case 4: {
      std::vector<std::string> names;
      for (size_t c = 0; c < columns.size(); ++c) names.push_back(fmt::format("{}{}", columns[c].name, depth));
      return rename(rows, names);
    }
    case 5: return map(rows, {columns[0].name}, cast(random() % 2 == 0 ? DType::i32 : DType::f64));
    case 6: return map(rows, {columns[0].name}, rescale(0.5, 1));
    case 7: return concat({rows, shuffle(rows, 1)});
    case 8: return zip({rows, random_rows(random, rows->size(), fmt::format("z{}", depth))});
    default: return random() % 2 == 0 ? take(rows, (rows->size() + 1) / 2) : skip(rows, rows->size() / 2);
  }
}

// The range that a view reports is that of its rows.
TEST(CheckedIds, ViewsKnowTheNumbersOfTheirRows) {
  std::mt19937 random(5);
  int known = 0;
  for (int trial = 0; trial < 150; ++trial) {
    DatasetPtr rows = random_rows(random, 1 + static_cast<int64_t>(random() % 12), "");
    for (int depth = static_cast<int>(random() % 4); depth > 0; --depth) rows = random_view(random, rows, depth);
    for (size_t c = 0; c < rows->columns().size(); ++c) {
      const std::optional<IntegerRange> range = rows->integers(c);
      if (!range) continue;
      ++known;
      EXPECT_EQ(Extremes(range->least.value, range->greatest.value), read_extremes(rows, c)) << trial << " " << c;
    }
  }
  EXPECT_GT(known, 250);
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return fmt::format("{} {}", static_cast<int>(error.code()), error.what());
  }
  return "none";
}

TEST(CheckedIds, RowsInMemoryAreCheckedAtOnce) {
  const auto of = [](const std::vector<int32_t>& ids, int64_t rows, const std::string& file = "") {
    const DatasetPtr data = memory_rows({{"ids", Array({2, 2}, ids)}}, file);
    return refusal([&] { EXPECT_EQ(checked_ids(data, {{"ids", rows, "table"}, {"others", 1, "t"}}), data); });
  };
  EXPECT_EQ(of({0, 3, 1, 2}, 4), "none");
  EXPECT_EQ(of({0, 3, 1, 2}, 3), "64 [ids] 'ids' is outside of table 'table', got 3 at row 0, expected 0 to 2");
  EXPECT_EQ(of({0, 1, 1, -2}, 3, "npz:x.npz"),
            "65 [ids] 'ids' is outside of table 'table', got -2 at row 1 of npz:x.npz, expected 0 to 2");
}

TEST(CheckedIds, RowsThatAreMadeAreCheckedWhenTheyAreRead) {
  const DatasetPtr made =
      generated_rows({{"ids", {DType::i32, {2}}}}, 8, [](int64_t, int64_t index, std::span<const Tensor> row) {
        row[0].as<int32_t>()[0] = 0;
        row[0].as<int32_t>()[1] = static_cast<int32_t>(index);
      });
  const std::string expected = "64 [ids] 'ids' is outside of table 't', got 5 at row 5 of epoch 2, expected 0 to 4";
  for (const DatasetPtr& rows : {made, take(made, 7)}) {
    const DatasetPtr checked = checked_ids(rows, {{"ids", 5, "t"}});
    EXPECT_EQ(refusal([&] { checked->row(2, 4); }), "none");
    EXPECT_EQ(refusal([&] { checked->row(2, 5); }), expected);
  }
  // Rows that are left out are not checked, even if they are in memory.
  const DatasetPtr some = take(memory_rows({{"ids", Array({3}, std::vector<int32_t>{1, 2, 9})}}), 2);
  const DatasetPtr checked = checked_ids(some, {{"ids", 5, "t"}});
  EXPECT_EQ(refusal([&] { checked->row(0, 1); }), "none");
}

TEST(CheckedIds, BytesOfTextsAreFoundInTheirFile) {
  const TempDir folder;
  Bytes text(100, 'b');
  text[89] = 200;  // after the last window of the training rows, which ends with byte 88
  text[95] = 'z';
  const std::string path = folder.write("t.txt", text).string(), packed = folder.write("p.txt.xz", xz(text)).string();
  const auto of = [&](const std::string& file, Split split, int64_t rows) {
    return refusal([&] { checked_ids(read_text(file, split, {.tokens = 4}), {{"tokens", rows, "t"}}); });
  };
  EXPECT_EQ(of(path, Split::train, 99), "none");
  EXPECT_EQ(of(path, Split::train, 98),
            fmt::format("65 [ids] 'tokens' is outside of table 't', got 98 at byte 0 of {}, expected 0 to 97", path));
  EXPECT_EQ(
      of(packed, Split::test, 99),
      fmt::format("65 [ids] 'tokens' is outside of table 't', got 122 at byte 95 of {}, expected 0 to 98", packed));
}

}  // namespace
}  // namespace partita
