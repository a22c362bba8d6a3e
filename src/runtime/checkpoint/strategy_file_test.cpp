#include "runtime/checkpoint/strategy_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "base/error.h"
#include "support/places.h"

namespace partita {
namespace {

std::string mindspore_strategy() {
  std::ifstream file(std::filesystem::path(kSourceDir) / "tests/mindspore/files/strategy.ckpt", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string refusal(const std::string& bytes) {
  try {
    parse_strategy_file(bytes, "s.ckpt");
    return "";
  } catch (const InvalidFile& error) {
    return error.what();
  }
}

using Lists = std::vector<std::vector<int64_t>>;

TEST(StrategyFile, ReadsWhatMindSporeWrites) {
  const StrategyFile file = parse_strategy_file(mindspore_strategy(), "s.ckpt");
  EXPECT_EQ(file.stage, 0);
  ASSERT_EQ(file.layouts.size(), 3u);
  const StrategyLayout &w = file.layouts[0], &v = file.layouts[1];
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.dev_matrix, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(w.tensor_map, (Lists{{1}, {0}}));
  EXPECT_EQ(v.tensor_map, (Lists{{0}, {-1}}));
  EXPECT_EQ(v.opt_weight_shard_step, 4);
  EXPECT_EQ(v.opt_weight_shard_size, 2);
  EXPECT_EQ(file.layouts[2].name, "1-far");
}

TEST(StrategyFile, SeveralAxesCutADimension) {
  // layout { name "w", { dev_matrix [2, 2], tensor_map [1, 0], tensor_map [-1], shard_size -1 } }, lists packed or not.
  const std::string minus = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  const std::string layout = std::string("\x0a\x04\x08\x02\x08\x02") + "\x12\x04\x0a\x02\x01" + std::string(1, '\0') +
                             "\x12\x0b\x08" + minus + "\x38" + minus;
  const std::string named = "\x0a\x01w\x12" + std::string(1, static_cast<char>(layout.size())) + layout;
  const StrategyFile file =
      parse_strategy_file("\x1a" + std::string(1, static_cast<char>(named.size())) + named, "s.ckpt");
  ASSERT_EQ(file.layouts.size(), 1u);
  EXPECT_EQ(file.layouts[0].dev_matrix, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(file.layouts[0].tensor_map, (Lists{{1, 0}, {-1}}));
  EXPECT_EQ(file.layouts[0].opt_weight_shard_size, -1);
}

TEST(StrategyFile, RefusesOthers) {
  EXPECT_EQ(refusal(""),
            "[strategy] s.ckpt is not a strategy file: it has no layouts, expected one that MindSpore has "
            "written");
  EXPECT_NE(refusal("some text").find("it is truncated or damaged"), std::string::npos);
  EXPECT_NE(refusal("\x1a\x03\x0a\x01\xff").find("a name is not UTF-8"), std::string::npos);
  const std::string bytes = mindspore_strategy();
  EXPECT_NE(refusal(bytes.substr(0, bytes.size() - 1)).find("it is truncated or damaged"), std::string::npos);
  std::string dims;
  for (int i = 0; i < 65; ++i) dims += "\x08\x01";
  const auto around = [](char tag, const std::string& inner) {
    return std::string{tag, static_cast<char>(0x80 | (inner.size() & 0x7f)), static_cast<char>(inner.size() >> 7)} +
           inner;
  };
  const std::string many = around('\x1a', around('\x12', around('\x0a', dims)));
  EXPECT_NE(refusal(many).find("a list of more than 64 numbers"), std::string::npos) << refusal(many);
}

TEST(StrategyFile, ThousandChangedFilesAreReadOrRefused) {
  const std::string right = mindspore_strategy();
  std::mt19937_64 random(3);
  int accepted = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = right;
    for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % bytes.size();
      if (random() % 2 == 0) {
        bytes[at] = static_cast<char>(random());
      } else {
        bytes.erase(at, 1 + random() % 4);
      }
      if (bytes.empty()) bytes = "\n";
    }
    accepted += refusal(bytes).empty() ? 1 : 0;
  }
  EXPECT_GT(accepted, 20);
  EXPECT_LT(accepted, 900);
}

}  // namespace
}  // namespace partita
