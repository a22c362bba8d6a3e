// If any configuration fits, the search finds one.

#include <gtest/gtest.h>

#include "planner/pricing/search/test_pricing.h"

namespace partita {
namespace {

/// Bytes of the largest group under all configurations of a small space, in ascending order.
std::vector<double> memory_of_all(const Priced& priced) {
  std::vector<double> all;
  const auto add = [&](Configuration configuration) {
    try {
      all.push_back(priced.costs->price(configuration).peak_memory());
    } catch (const InvalidArgument&) {  // cannot be cut or recomputed so
    }
  };
  for (Configuration one : uniform_grid(priced.cluster.ranks(), priced.costs->layers(), priced.costs->batch())) {
    add(one);
    one.cuts = TensorCuts::searched;
    if (one.tensor == 1 || one.sequence_parallel) continue;
    for (one.squeeze = 0; one.squeeze <= kMaxSqueeze; ++one.squeeze) add(one);
  }
  std::ranges::sort(all);
  return all;
}

TEST(SearchConfigurations, FindsWhateverFits) {
  int squeezed = 0;
  for (const char* model : {"mlp:layers=3,hidden=1500", "gpt:layers=4,hidden=128,heads=4,seq=32,vocab=9001",
                            "resnet18:size=32,width=32", "recommender", "vit:layers=3"}) {
    for (const int64_t ranks : {1, 2, 4}) {
      const Priced priced(forward_of_model(model, 16), "v100", ranks);
      const std::vector<double> all = memory_of_all(priced);
      ASSERT_FALSE(all.empty());
      for (const size_t at : {size_t{0}, all.size() / 20, all.size() / 5}) {
        const double memory = all[at] * (1 + 1e-9);
        SCOPED_TRACE(fmt::format("{} on {} ranks, {} bytes", model, ranks, memory));
        const ConfigurationSearch search = priced.search(memory);
        ASSERT_TRUE(search.best) << print(search.least->configuration) << " takes "
                                 << search.least->price.peak_memory();
        EXPECT_LE(search.best->price.peak_memory(), memory);
        squeezed += search.best->configuration.squeeze > 0;
      }
      EXPECT_FALSE(priced.search(0.3 * all[0]).best);
    }
  }
  EXPECT_GT(squeezed, 0);
}

}  // namespace
}  // namespace partita
