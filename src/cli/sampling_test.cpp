#include "cli/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"

namespace partita {
namespace {

/// Returns how often each token is drawn.
std::map<int32_t, int> counted(const std::vector<float>& logits, const Sampling& sampling, int draws,
                               const std::vector<int32_t>& text = {}) {
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[draw_token(logits, text, sampling, 7, static_cast<uint64_t>(i))];
  return counts;
}

TEST(Sampling, DrawsWithTheProbabilitiesOfSoftmax) {
  const std::vector<float> logits{0, 1, 2, -1};
  const double total = 1 + std::exp(2.0) + std::exp(4.0) + std::exp(-2.0);
  constexpr int kDraws = 20000;
  for (const auto& [token, count] : counted(logits, {.temperature = 0.5}, kDraws)) {
    const double expected = std::exp(2.0 * static_cast<double>(logits[static_cast<size_t>(token)])) / total;
    EXPECT_NEAR(count / static_cast<double>(kDraws), expected, 0.012) << token;
  }
}

TEST(Sampling, CutsLeaveTheLikeliestTokens) {
  size_t drawn = 0;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 50; ++round) {
    std::vector<float> logits(12);
    for (float& logit : logits) logit = normal(random);
    std::vector<int32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(
        order, [&](int32_t a, int32_t b) { return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)]; });
    const auto k = static_cast<int64_t>(1 + round % 12);
    for (const auto& [token, count] : counted(logits, {.temperature = 1, .top_k = k}, 200)) {
      EXPECT_LT(std::ranges::find(order, token) - order.begin(), k);
    }
    // The smallest set of likeliest tokens with the probability.
    const double p = 0.05 + 0.9 * round / 50;
    double total = 0, sum = 0;
    for (const float logit : logits) total += std::exp(static_cast<double>(logit));
    std::set<int32_t> kept;
    for (const int32_t token : order) {
      if (sum / total >= p) break;
      kept.insert(token);
      sum += std::exp(static_cast<double>(logits[static_cast<size_t>(token)]));
    }
    const std::map<int32_t, int> counts = counted(logits, {.temperature = 1, .top_p = p}, 200);
    drawn += counts.size();
    for (const auto& [token, count] : counts) {
      EXPECT_TRUE(kept.contains(token)) << "p " << p << ", token " << token;
    }
  }
  EXPECT_GT(drawn, 150U) << "the cuts leave the likeliest token alone";
}

TEST(Sampling, TheLikeliestTokenIsTheFirstOfEqualOnes) {
  EXPECT_EQ(draw_token(std::vector<float>{1, 3, 3}, {}, {.temperature = 0}, 1, 0), 1);
  EXPECT_EQ(draw_token(std::vector<float>{1, 3, 3}, {}, {.temperature = 1, .top_k = 1}, 1, 5), 1);
  EXPECT_EQ(draw_token(std::vector<float>{1, 3, 3}, {}, {.temperature = 1, .top_p = 0}, 1, 5), 1);
}

TEST(Sampling, PenaltiesLowerTokensOfTheText) {
  const std::vector<float> logits{2, 1.9F, -1};
  EXPECT_EQ(draw_token(logits, {0}, {.temperature = 0, .repetition_penalty = 1.2}, 1, 0), 1);
  EXPECT_EQ(draw_token(logits, {0, 0, 1}, {.temperature = 0, .repetition_penalty = 1.2}, 1, 0), 0) << "once each";
  EXPECT_EQ(draw_token(std::vector<float>{-2, -2.1F}, {0}, {.temperature = 0, .repetition_penalty = 2}, 1, 0), 1);
}

TEST(Sampling, RefusesLogitsThatAreNotFinite) {
  EXPECT_THROW(draw_token(std::vector<float>{0, std::nanf("")}, {}, {}, 1, 0), RuntimeFailure);
}

}  // namespace
}  // namespace partita
