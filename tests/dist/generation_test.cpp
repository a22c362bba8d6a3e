// Texts that a network lengthens are the same with and without caches of keys and values, on any number of ranks and
// under any cuts.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "support/needs_plugin.h"
#include "training/generator.h"
#include "training/model.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

constexpr int64_t kVocab = 24, kWindow = 12;

struct Grown {
  std::vector<std::vector<int32_t>> texts;
  std::vector<std::vector<float>> logits;  // one list per step and text, in order
};

/// Texts of unlike lengths, one longer than the window.
std::vector<std::vector<int32_t>> random_texts(uint64_t seed) {
  std::vector<std::vector<int32_t>> texts;
  for (const size_t size : {size_t{3}, size_t{1}, size_t{9}, size_t{17}, size_t{12}}) {
    std::vector<int32_t>& text = texts.emplace_back();
    for (size_t i = 0; i < size; ++i) {
      text.push_back(static_cast<int32_t>(random_below(random_key(seed, "texts"), 100 * texts.size() + i, 0, kVocab)));
    }
  }
  return texts;
}

JobConfig generating(const std::string& spec, int ranks, const PlanOptions& plan = {}) {
  JobConfig config = configured(spec, {});
  config.training.dtype = DType::f64;
  config.ranks = {.count = ranks, .threads = 1};
  config.plan.options = plan;
  config.console.quiet = true;
  return config;
}

/// Lengthens texts by up to `length` tokens: the likeliest of each step, but texts end at different steps.
Grown grown(const JobConfig& config, bool cache, uint64_t seed, int64_t length = 20) {
  Model model(config, Place{.cores = 8});
  model.on_warning([](const std::string&) {});
  Grown result{.texts = random_texts(seed)};
  const GenerateRequest request{.texts = result.texts, .length = length, .cache = cache};
  model.generate(request, [&](size_t text, std::span<const float> logits) -> std::optional<int32_t> {
    EXPECT_EQ(static_cast<int64_t>(logits.size()), kVocab);
    result.logits.emplace_back(logits.begin(), logits.end());
    const auto next = static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
    result.texts[text].push_back(next);
    if (result.texts[text].size() > 19 + 3 * text) return std::nullopt;
    return next;
  });
  return result;
}

void expect_alike(const Grown& own, const Grown& expected, const std::string& what, double most = 1e-5) {
  EXPECT_EQ(own.texts, expected.texts) << what;
  ASSERT_EQ(own.logits.size(), expected.logits.size()) << what;
  double apart = 0;
  for (size_t i = 0; i < own.logits.size(); ++i) {
    for (size_t k = 0; k < own.logits[i].size(); ++k) {
      apart = std::max(apart, std::abs(static_cast<double>(own.logits[i][k]) - expected.logits[i][k]));
    }
  }
  EXPECT_LT(apart, most) << what;
}

PlanOptions cut(int64_t tensor, int64_t stages = 1) {
  PlanOptions plan{.parallel = Parallel::automatic};
  plan.blocks.tensor = tensor;
  plan.pipeline.stages = stages;
  return plan;
}

PlanOptions in_stages(int64_t stages) {
  PlanOptions plan;
  plan.pipeline.stages = stages;
  return plan;
}

class Generation : public testing::TestWithParam<const char*> {};

TEST_P(Generation, IsTheSameWithoutCachesAndUnderAnyCuts) {
  const std::string spec = fmt::format("{},seq={},vocab={}", GetParam(), kWindow, kVocab);
  const Grown expected = grown(generating(spec, 1), /*cache=*/false, 5);
  ASSERT_GT(expected.logits.size(), 60u);
  expect_alike(grown(generating(spec, 1), true, 5), expected, "1 rank");
  for (const int ranks : {2, 3, 4, 6, 8}) {
    expect_alike(grown(generating(spec, ranks), true, 5), expected, fmt::format("{} ranks", ranks));
  }
  expect_alike(grown(generating(spec, 2), false, 5), expected, "2 ranks without caches");
  for (const auto& [ranks, plan] : {std::pair{2, cut(2)},
                                    {4, cut(4)},
                                    {4, cut(2)},
                                    {4, cut(2, 2)},
                                    {2, in_stages(2)},
                                    {4, in_stages(4)},
                                    {6, in_stages(2)}}) {
    const std::string what =
        fmt::format("{} ranks, tensor {}, stages {}", ranks, plan.blocks.tensor, plan.pipeline.stages);
    expect_alike(grown(generating(spec, ranks, plan), true, 5), expected, what);
  }
  expect_alike(grown(generating(spec, 4, cut(2, 2)), false, 5), expected, "4 ranks, cut, without caches");
}

TEST_P(Generation, TakesTextsOfAnyLengths) {
  const std::string spec = fmt::format("{},seq={},vocab={}", GetParam(), kWindow, kVocab);
  for (const uint64_t seed : {11, 12, 13}) {
    for (const int64_t length : {1, 2, 30}) {
      expect_alike(grown(generating(spec, 2), true, seed, length), grown(generating(spec, 1), false, seed, length),
                   fmt::format("seed {}, {} tokens", seed, length));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Generation,
                         testing::Values("gpt:layers=4,hidden=16,heads=4",
                                         "gpt:layers=4,hidden=16,heads=4,positions=20",
                                         "llama:layers=4,hidden=16,heads=4",
                                         "llama:layers=4,hidden=16,heads=4,kv_heads=2,head_norm=1,experts=4,top_k=2",
                                         "moe:layers=4,hidden=16,heads=4,experts=4,capacity=1"),
                         [](const auto& info) { return fmt::format("{}", info.index); });

class GenerationsOnDevices : public NeedsPlugin {};

TEST_F(GenerationsOnDevices, AreTheSame) {
  const std::string spec = fmt::format("llama:layers=2,hidden=16,heads=4,kv_heads=2,seq={},vocab={}", kWindow, kVocab);
  const Grown expected = grown(generating(spec, 1), /*cache=*/false, 5);
  for (const int ranks : {1, 2}) {
    JobConfig config = generating(spec, ranks);
    config.ranks.device = "xla:cpu";
    expect_alike(grown(config, true, 5), expected, fmt::format("{} ranks", ranks));
  }
}

TEST(Generations, RefuseTextsWithoutTokens) {
  Model model(generating("gpt:layers=1,hidden=8,heads=2,seq=4,vocab=8", 1), Place{.cores = 1});
  const auto refusal = [&](const GenerateRequest& request) -> std::string {
    try {
      model.generate(request, [](size_t, std::span<const float>) { return std::nullopt; });
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({}), "[generate] no texts, got 0, expected at least 1");
  EXPECT_EQ(refusal({.texts = {{1}, {}}}), "[generate] a text has no tokens, got 0 in text 1, expected at least 1");
  EXPECT_EQ(refusal({.texts = {{9}}}).substr(0, 12), "[embedding] ");
}

}  // namespace
}  // namespace partita
