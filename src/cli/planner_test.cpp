#include "cli/planner.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

constexpr double kRounding = 1e-5;  // other rows are lowered

/// A step under a configuration, and as the cuts of its plan file make it.
struct PricedTwice {
  PricedTwice(const std::string& model, const std::string& text) {
    const Configuration given = parse_configuration(text);
    Planner planner({.model = model, .cluster = "cpu", .batch = 24, .ranks = given.ranks()});
    const Configuration configuration = completed(given, given.ranks(), planner.batch());
    const PricedPlan plan = planner.priced(configuration);
    folded = plan.price;
    file = planner.plan_file(plan);
    whole = planner.price_of_cuts(*file.cuts, configuration);
  }
  Price folded, whole;
  PlanFile file;
};

void expect_priced_alike(const std::string& model, const std::string& text) {
  SCOPED_TRACE(model + " " + text);
  const PricedTwice priced(model, text);
  const double seconds = priced.folded.step_seconds, bytes = priced.folded.peak_memory();
  EXPECT_NEAR(priced.whole.step_seconds, seconds, kRounding * seconds);
  EXPECT_NEAR(priced.whole.peak_memory(), bytes, kRounding * bytes);
  EXPECT_EQ(priced.file.predicted->step_seconds, seconds);
}

TEST(Planner, PricesTheCutsThatItWrites) {
  const std::string gpt = "gpt:layers=5,hidden=64,heads=4,seq=32";
  for (const char* text :
       {"data=4", "data=2,tensor=2,micro_batch=6", "tensor=4,sequence_parallel=true,micro_batch=4",
        "data=2,tensor=2,pipeline=2,micro_batch=3,recompute=full", "context=2,data=2,micro_batch=3"}) {
    expect_priced_alike(gpt, text);
  }
  expect_priced_alike("llama:layers=5,hidden=64,heads=4", "data=2,tensor=2,micro_batch=6");
}

TEST(Planner, PredictsTheSearchedCutsThatItWrites) {
  for (const char* model : {"mlp:layers=6,hidden=512", "gpt:layers=5,hidden=64,heads=4,seq=32"}) {
    for (const char* text : {"tensor=4,cuts=searched", "data=2,tensor=2,micro_batch=6,cuts=searched",
                             "data=2,tensor=3,micro_batch=6,cuts=searched"}) {
      SCOPED_TRACE(fmt::format("{} {}", model, text));
      const PricedTwice priced(model, text);
      EXPECT_EQ(priced.file.predicted->step_seconds, priced.whole.step_seconds);
      EXPECT_LE(priced.whole.step_seconds, 1.01 * priced.folded.step_seconds);
    }
  }
}

}  // namespace
}  // namespace partita
