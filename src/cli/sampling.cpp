#include "cli/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/philox.h"

namespace partita {
namespace {

std::vector<double> penalized(std::span<const float> logits, const std::vector<int32_t>& text, double penalty) {
  std::vector<double> values(logits.begin(), logits.end());
  if (penalty == 1) return values;
  for (const int32_t token : text) {
    const auto i = static_cast<size_t>(token);
    const double logit = logits[i];
    values[i] = logit > 0 ? logit / penalty : logit * penalty;  // once, however often the text has the token
  }
  return values;
}

}  // namespace

int32_t draw_token(std::span<const float> logits, const std::vector<int32_t>& text, const Sampling& sampling,
                   uint64_t key, uint64_t step) {
  if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) {
    throw RuntimeFailure(ExitCode::non_finite,
                         "[generate] logits are not finite, got NaN or infinite, expected numbers");
  }
  const std::vector<double> values = penalized(logits, text, sampling.repetition_penalty);
  const auto best = std::ranges::max_element(values);
  if (sampling.temperature == 0) return static_cast<int32_t>(best - values.begin());
  std::vector<int32_t> tokens(values.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const bool is_cut = sampling.top_k > 0 || sampling.top_p < 1;
  if (is_cut) {
    std::ranges::stable_sort(
        tokens, [&](int32_t a, int32_t b) { return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)]; });
    if (sampling.top_k > 0) tokens.resize(std::min(tokens.size(), static_cast<size_t>(sampling.top_k)));
  }
  std::vector<double> cumulative(tokens.size());
  double total = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    total += std::exp((values[static_cast<size_t>(tokens[i])] - *best) / sampling.temperature);
    cumulative[i] = total;
  }
  if (sampling.top_p < 1) {
    const auto last = std::ranges::lower_bound(cumulative, sampling.top_p * total);
    cumulative.resize(
        static_cast<size_t>(std::min<std::ptrdiff_t>(last - cumulative.begin() + 1, std::ssize(cumulative))));
    total = cumulative.back();
  }
  constexpr int64_t kSteps = int64_t{1} << 53;
  const double at = static_cast<double>(random_below(key, step, 0, kSteps)) / static_cast<double>(kSteps) * total;
  const auto chosen = std::min<std::ptrdiff_t>(std::ssize(cumulative) - 1,
                                               std::ranges::upper_bound(cumulative, at) - cumulative.begin());
  return tokens[static_cast<size_t>(chosen)];
}

}  // namespace partita
