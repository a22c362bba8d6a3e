#include "planner/explain/page.h"

#include <gtest/gtest.h>

#include "base/page/test_page.h"
#include "planner/cluster/presets.h"
#include "planner/explain/charts.h"

namespace partita {
namespace {

PricedPlan priced_of_pipeline() {
  PricedPlan plan{.model = "net<script>alert(1)</script>&\"'", .cluster = "v100:2", .ranks = 16, .batch = 32};
  plan.configuration = {.data = 4, .pipeline = 4, .micro_batch = 1, .order = Order::zero_bubble};
  plan.price.step_seconds = 0.25;
  plan.price.breakdown = {.compute = 0.18, .waiting = 0.02, .bubble = 0.01, .update = 0.01};
  plan.price.breakdown.communication[Collective::all_reduce] = 0.03;
  plan.price.memory.assign(
      4, {.parameters = 1e9, .gradients = 1e9, .optimizer = 2e9, .activations = 3e9, .workspace = 1e8});
  plan.price.layers.assign(4, StageLayers{{.by_policy = {1, 0, 0}}});
  plan.stages = {{"net/a<b"}, {"net/b"}, {"net/c"}, {"net/d"}};
  return plan;
}

/// A step of two groups with one stage each and 6 micro-batches.
LayerStep two_groups() {
  LayerStep step{.seconds = 30};
  for (int stage : {0, 1}) {
    LayerStepGroup& group = step.groups.emplace_back();
    for (int64_t micro = 0; micro < 6; ++micro) {
      const double begin = 4 * static_cast<double>(micro) + stage;
      group.spans.push_back({LayerSpan::forward, stage, {}, micro, begin, begin + 1});
      group.spans.push_back({LayerSpan::backward, stage, {}, micro, begin + 1, begin + 3});
      group.memory.push_back({begin, 100});
      group.memory.push_back({begin + 3, 80});
    }
    group.spans.push_back({LayerSpan::reduce, stage, LayerOfStage{}, 5, 25, 28});
    group.spans.push_back({LayerSpan::update, stage, {}, 0, 28, 29});
  }
  return step;
}

PageContents contents_of(const PricedPlan& plan, const Cluster& cluster) {
  PageContents contents{.plan = plan,
                        .cluster = cluster,
                        .memory = 16e9,
                        .layers = {},
                        .cuts = {{"net/a<b", "A={data}"}},
                        .step = two_groups(),
                        .others = {},
                        .groups = {{"data<", 4, "node", 1e11}},
                        .ops = {},
                        .text = "partita training plan 1\nmodel <x>\n"};
  contents.layers.push_back({.name = "net/a<b", .strategy = "data: batch", .forward = 0.1, .communication = {}});
  contents.others.push_back({"data & parallel", {.data = 16}, 0.5, 2e10, false});
  contents.ops.push_back({"net/a<b", {{"A={data}", 0.1, true}, {"", 0.2, false, "computes 2 times > as much"}}});
  return contents;
}

TEST(Page, IsWellFormedAndNeedsNothingElse) {
  const PricedPlan plan = priced_of_pipeline();
  const Cluster cluster = cluster_named("v100:2");
  const std::string html = html_page(contents_of(plan, cluster));
  EXPECT_EQ(fault_of_page(html), "");
  for (const char* outside :
       {"http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link", "<iframe", "//"})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  for (const char* part : {"net&lt;script&gt;", "net/a&lt;b", "250.000 ms", "waiting for the host", "Timeline",
                           "Memory", "does not fit", "<svg"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  EXPECT_NE(fault_of_page("<!DOCTYPE html>\n<p>a < b</p>"), "");  // the check detects faults
  EXPECT_NE(fault_of_page("<!DOCTYPE html>\n<p><b>a</p>"), "");
  EXPECT_NE(fault_of_page("<!DOCTYPE html>\n<p>a & b</p>"), "");
}

TEST(Page, DrawsWhatGroupsDo) {
  const LayerStep step = two_groups();
  const std::string timeline = timeline_chart(step, /*stages_share_ranks=*/false);
  const auto count = [&](const std::string& part) {
    size_t found = 0;
    for (size_t at = 0; (at = timeline.find(part, at)) != timeline.npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("<rect class=\"s-forward"), 12U);
  EXPECT_EQ(count("<rect class=\"s-backward"), 12U);
  EXPECT_EQ(count("<rect class=\"s-comm"), 2U);
  EXPECT_EQ(count("<rect class=\"s-update"), 2U);
  EXPECT_NE(memory_chart(step, 150).find("of a device: 150 B"), std::string::npos);
  LayerStep many = step;
  many.groups.resize(1024, step.groups[0]);
  EXPECT_LT(timeline_chart(many, false).size(), size_t{1} << 20);
}

}  // namespace
}  // namespace partita
