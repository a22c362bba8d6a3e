// The tests let texts grow at random, and check that the caches get each token of their windows before it is read.

#include "training/text_contexts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/philox.h"

namespace partita {
namespace {

/// Caches that hold what they are given, and say whether a step may read it.
class Caches {
 public:
  explicit Caches(size_t texts) : rows_(texts) {}

  void write(const TokenRows& rows) {
    const size_t size = rows.tokens.size() / rows_.size();
    for (size_t i = 0; i < rows.tokens.size(); ++i) rows_[i / size][rows.positions[i]] = rows.tokens[i];
  }
  /// Returns the tokens of a text up to its position `last`; -1 for those that are missing.
  std::vector<int32_t> up_to(size_t text, int32_t last) const {
    std::vector<int32_t> tokens;
    for (int32_t place = 0; place <= last; ++place) {
      const auto found = rows_[text].find(place);
      tokens.push_back(found == rows_[text].end() ? -1 : found->second);
    }
    return tokens;
  }

 private:
  std::vector<std::map<int32_t, int32_t>> rows_;
};

TEST(Contexts, CachesHaveTheWindowsOfTheTextsAtEachStep) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    uint64_t drawn = 0;
    const auto below = [&](int64_t count) {
      return static_cast<int64_t>(
          random_below(random_key(seed, "contexts"), drawn++, 0, static_cast<uint64_t>(count)));
    };
    const int64_t window = 1 + below(9), chunk = 1 + below(5), count = 1 + below(4);
    std::vector<std::vector<int32_t>> texts(static_cast<size_t>(count));
    for (std::vector<int32_t>& text : texts) {
      text.resize(static_cast<size_t>(1 + below(2 * window)));
      for (int32_t& token : text) token = static_cast<int32_t>(below(1000));
    }
    Contexts contexts(texts, window);
    Caches caches(texts.size());
    for (int step = 0; step < 40 && !contexts.have_all_ended(); ++step) {
      while (contexts.missing_at_most() > 1) caches.write(contexts.take(chunk));
      const TokenRows last = contexts.take_last();
      caches.write(last);
      const std::vector<int32_t> whole = contexts.whole();
      for (size_t text = 0; text < texts.size(); ++text) {
        if (contexts.has_ended(text)) continue;
        const int64_t length = contexts.length(text);
        ASSERT_TRUE(length >= 1 && length <= window);
        const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(text) * window;
        const std::vector<int32_t> seen(begin, begin + length);
        ASSERT_TRUE(std::equal(seen.rbegin(), seen.rend(), texts[text].rbegin()));
        ASSERT_EQ(last.positions[text], length - 1);
        ASSERT_EQ(caches.up_to(text, last.positions[text]), seen) << "seed " << seed << ", step " << step;
      }
      for (size_t text = 0; text < texts.size(); ++text) {
        if (contexts.has_ended(text)) continue;
        const auto token = static_cast<int32_t>(below(1000));
        const bool ends = below(20) == 0;
        contexts.add(text, ends ? std::nullopt : std::optional(token));
        if (!ends) texts[text].push_back(token);
      }
    }
  }
}

}  // namespace
}  // namespace partita
